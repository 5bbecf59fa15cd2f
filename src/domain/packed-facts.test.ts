import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import type { AnswerInputs, Input, NoAnswer, Part, View } from './document.ts'
import { warnings } from './document.ts'
import type { Facts } from './packed-facts.ts'
import { factsFrom, packFacts } from './packed-facts.ts'
import { timeframes } from './timeframe.ts'

describe('packed facts', () => {
  test.prop([facts()])(
    'are read as they were, with their members in the same order',
    (rendered) => {
      const read = factsFrom(packFacts(rendered))
      expect(read).toEqual(rendered)
      const { parts, views, numbered } = read
      expect(JSON.stringify({ parts, views, numbered })).toBe(
        JSON.stringify({
          parts: rendered.parts,
          views: rendered.views,
          numbered: rendered.numbered,
        }),
      )
    },
  )

  test('list each input once, whatever object it is', () => {
    const input = () => ({ name: 'book', confirmedAtMs: 1, cadenceMs: 2, isLoadBearing: true })
    const answer = () => ({ inputs: [input()], coveragePct: 100, warnings: [] })
    const view: View = { kind: 'answer', parts: [], ...answer(), components: [answer()] }
    const numbered = { parts: [], inputs: [input()], outcomes: [], outcomeOf: new Uint8Array() }
    const packed = packFacts({ parts: [], views: { '1h': view, '4h': view }, numbered })
    expect(textOf(packed).match(/"book"/g)).toHaveLength(1)
    const other = { ...view, inputs: [{ ...input(), ageMsMax: 3 }] }
    const read = factsFrom(packFacts({ parts: [], views: { '1h': view, '4h': other } }))
    expect(read.views).toEqual({ '1h': view, '4h': other })
  })

  test('take of a text its end alone, if it begins at the end of the text before it', () => {
    const parts: readonly Part[] = [
      { kind: 'text', start: 0, end: 5 },
      { kind: 'freshness' },
      { kind: 'text', start: 5, end: 9 },
      { kind: 'text', start: 12, end: 20 },
      { kind: 'text', start: 20, end: 21 },
    ]
    const packed = packFacts({ parts, views: {} })
    expect(textOf(packed)).toContain('[5,"freshness",9,{"kind":"text","start":12,"end":20},21]')
    expect(factsFrom(packed).parts).toEqual(parts)
  })

  test.each([
    '',
    '[]',
    '[]\n',
    '{}\n[]',
    '[]\n{}',
    '[]\n[]',
    '[]\n[[],[null],[]]',
    'x\n[[],[],[]]',
  ])('of another form are refused: %j', (text) => {
    expect(() => factsFrom(new TextEncoder().encode(text))).toThrow()
  })
})

function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes)
}

/** All that a document may have, and more than the builder makes. */
function facts(): fc.Arbitrary<Facts> {
  // JSON has no other numbers; adding 0 leaves no -0.
  const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0)
  const offset = fc.nat(100_000)
  const index = fc.nat(9)
  const text = fc.string({ unit: 'grapheme', maxLength: 9 })
  // Few names and instants, so that views share inputs.
  const input: fc.Arbitrary<Input> = fc.record(
    {
      name: fc.constantFrom('book', 'candles_1h', 'é"'),
      confirmedAtMs: fc.oneof(fc.constant(1), number),
      cadenceMs: fc.constantFrom(5_000, 60_000),
      isLoadBearing: fc.boolean(),
      ageMsMax: fc.constantFrom(1, 2),
    },
    { requiredKeys: ['name', 'confirmedAtMs', 'cadenceMs', 'isLoadBearing'] },
  )
  const inputs = fc.array(input, { maxLength: 4 })
  const coverage = {
    coveragePct: number,
    warnings: fc.array(fc.constantFrom(...warnings), { maxLength: 3 }),
  }
  const answerInputs: fc.Arbitrary<AnswerInputs> = fc.record({ inputs, ...coverage })
  const noAnswer: fc.Arbitrary<NoAnswer> = fc.oneof(
    fc.record({
      kind: fc.constant('insufficient-candles' as const),
      timeframe: fc.constantFrom(...timeframes),
      have: index,
      need: index,
    }),
    fc.record(
      { kind: fc.constant('missing-input' as const), input: text, detail: text },
      { requiredKeys: ['kind', 'input'] },
    ),
    fc.record({ kind: fc.constant('not-covered' as const), coins: fc.array(text) }),
  )
  const view: fc.Arbitrary<View> = fc.oneof(
    noAnswer,
    fc
      .record({ parts: fc.array(index), own: answerInputs, components: fc.array(answerInputs) })
      .chain(({ own, components, parts }) => {
        const answer = { kind: 'answer' as const, parts, ...own }
        return fc.constantFrom<View>(answer, { ...answer, components })
      }),
  )
  const offsets = fc.array(fc.nat(2 ** 32 - 1)).map((all) => Uint32Array.from(all))
  const part: fc.Arbitrary<Part> = fc.oneof(
    fc.record({ kind: fc.constant('text' as const), start: offset, end: offset }),
    fc.record({ kind: fc.constant('choice' as const), starts: offsets, ends: offsets }),
    fc.record({ kind: fc.constant('run' as const), from: index, to: index }),
    fc.record(
      { kind: fc.constant('input-age' as const), input: text, of: index },
      { requiredKeys: ['kind', 'input'] },
    ),
    fc.record({ kind: fc.constant('age' as const), confirmedAtMs: number }),
    fc.record({ kind: fc.constant('freshness' as const), of: index }, { requiredKeys: ['kind'] }),
    fc.record({ kind: fc.constantFrom('execution-ms' as const, 'coins-available' as const) }),
    fc.record(
      {
        kind: fc.constant('requested-coin' as const),
        member: fc.constant('requested_token' as const),
      },
      { requiredKeys: ['kind'] },
    ),
  )
  return fc.record(
    {
      nextUpdateMs: number,
      // Of two texts in a row the second mostly begins where the first ends.
      parts: fc.array(fc.tuple(part, fc.boolean())).map((all) => {
        let end = 0
        return all.map(([each, isNext]): Part => {
          if (each.kind !== 'text') return each
          const start = isNext ? end : each.start
          end = each.end
          return { ...each, start }
        })
      }),
      views: fc.dictionary(fc.stringMatching(/^[a-z0-9,]{0,5}$/), view),
      numbered: fc.record({
        parts: fc.array(index),
        inputs,
        outcomes: fc.array(fc.oneof(fc.record(coverage), noAnswer)),
        outcomeOf: fc.uint8Array(),
      }),
    },
    { requiredKeys: ['parts', 'views'] },
  )
}
