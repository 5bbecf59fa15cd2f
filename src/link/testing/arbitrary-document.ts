import fc from 'fast-check'
import type { Document, Input, NoAnswer, NumberedViews, Part, View } from '../../domain/document.ts'
import { documentKey, warnings } from '../../domain/document.ts'
import { timeframes } from '../../domain/timeframe.ts'

const number = fc.double({ noNaN: true })
const count = fc.nat(1_000)
const text = fc.string({ unit: 'grapheme', maxLength: 12 })

const input: fc.Arbitrary<Input> = fc.record(
  {
    name: text,
    confirmedAtMs: number,
    cadenceMs: number,
    isLoadBearing: fc.boolean(),
    ageMsMax: number,
  },
  { requiredKeys: ['name', 'confirmedAtMs', 'cadenceMs', 'isLoadBearing'] },
)

const coverage = fc.record({
  coveragePct: number,
  warnings: fc.array(fc.constantFrom(...warnings), { maxLength: 3 }),
})

const inputs = fc.array(input, { maxLength: 3 })

const noAnswer: fc.Arbitrary<NoAnswer> = fc.oneof(
  fc.record({
    kind: fc.constant('insufficient-candles' as const),
    timeframe: fc.constantFrom(...timeframes),
    have: count,
    need: count,
  }),
  fc.record(
    { kind: fc.constant('missing-input' as const), input: text, detail: text },
    { requiredKeys: ['kind', 'input'] },
  ),
  fc.record({
    kind: fc.constant('not-covered' as const),
    coins: fc.array(text, { maxLength: 3 }),
  }),
  fc.record(
    {
      kind: fc.constant('low-coverage' as const),
      missing: text,
      have: count,
      need: count,
      readyAtMs: number,
      detail: text,
    },
    { requiredKeys: ['kind', 'missing', 'have', 'need'] },
  ),
)

const slot: fc.Arbitrary<Part> = fc.oneof(
  fc.record(
    { kind: fc.constant('input-age' as const), input: text, of: count },
    { requiredKeys: ['kind', 'input'] },
  ),
  fc.record({ kind: fc.constant('age' as const), confirmedAtMs: number }),
  fc.record({ kind: fc.constant('freshness' as const), of: count }, { requiredKeys: ['kind'] }),
  fc.record({ kind: fc.constantFrom('execution-ms' as const, 'coins-available' as const) }),
  fc.record(
    {
      kind: fc.constant('requested-coin' as const),
      member: fc.constant('requested_token' as const),
    },
    { requiredKeys: ['kind'] },
  ),
)

/** Any document of a subject that the format can hold. */
export function arbitraryDocument(subject: string): fc.Arbitrary<Document> {
  return fc
    .record({
      analysis: fc.stringMatching(/^[a-z-]{1,12}$/),
      version: fc.maxSafeNat(),
      renderedAtMs: number,
      nextUpdateMs: fc.option(number, { nil: undefined }),
      bytes: fc.uint8Array({ minLength: 1, maxLength: 300 }),
      slots: fc.array(slot, { maxLength: 4 }),
      choices: fc.nat(9),
      hasNumbered: fc.boolean(),
      outcomes: fc.array(fc.oneof(coverage, noAnswer), { minLength: 1, maxLength: 3 }),
      inputs,
      views: fc.dictionary(fc.stringMatching(/^[a-z0-9,]{0,9}$/), fc.oneof(answer(), noAnswer)),
    })
    .map((made) => {
      const { length } = made.bytes
      const parts: Part[] = [
        { kind: 'text', start: 0, end: length },
        {
          kind: 'choice',
          starts: Uint32Array.from({ length: made.choices }, (_, at) => Math.min(at, length)),
          // A view without an answer may have any range.
          ends: Uint32Array.from({ length: made.choices }, (_, at) =>
            'kind' in (made.outcomes[at % made.outcomes.length] ?? {}) ? 2 * length : length,
          ),
        },
        { kind: 'run', from: 0, to: 2 },
        ...made.slots,
      ]
      const numbered: NumberedViews = {
        parts: [1, 0],
        inputs: made.inputs,
        outcomes: made.outcomes,
        outcomeOf: Uint8Array.from({ length: made.choices }, (_, at) => at % made.outcomes.length),
      }
      return {
        key: documentKey(made.analysis, subject),
        version: made.version,
        renderedAtMs: made.renderedAtMs,
        ...(made.nextUpdateMs !== undefined && { nextUpdateMs: made.nextUpdateMs }),
        bytes: made.bytes,
        parts,
        views: made.views,
        ...(made.hasNumbered && { numbered }),
      }
    })
}

function answer(): fc.Arbitrary<View> {
  return fc
    .record(
      {
        kind: fc.constant('answer' as const),
        inputs,
        parts: fc.array(fc.nat(2), { maxLength: 4 }),
        coverage,
        components: fc.array(
          fc.tuple(inputs, coverage).map(([own, covered]) => ({ inputs: own, ...covered })),
          { maxLength: 2 },
        ),
      },
      { requiredKeys: ['kind', 'inputs', 'parts', 'coverage'] },
    )
    .map(({ coverage: covered, ...rest }) => ({ ...rest, ...covered }))
}
