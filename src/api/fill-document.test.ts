import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import type { Answer, Document, Input, Slot } from '../domain/document.ts'
import { fillDocument } from './fill-document.ts'
import { layOut, pulseLikeDocument } from './testing/pulse-like.ts'

const NOW_MS = Date.UTC(2026, 0, 1)

const inputs = fc.uniqueArray(
  fc.record({
    name: fc.stringMatching(/^[a-z_0-9]{1,12}$/),
    confirmedAtMs: fc.integer({ min: NOW_MS - 20_000_000, max: NOW_MS + 5_000 }),
    cadenceMs: fc.integer({ min: 1, max: 3_600_000 }),
    isLoadBearing: fc.boolean(),
  }),
  { minLength: 1, maxLength: 8, selector: ({ name }) => name },
)

const facts = fc.record({
  nowMs: fc.constant(NOW_MS),
  executionMs: fc.double({ min: 0, max: 20_000, noNaN: true }),
  coinsAvailable: fc.nat(1_000),
  requested: fc.option(
    fc.record({ ticker: fc.string({ unit: 'binary' }), unitMultiplier: fc.constant(1_000) }),
    { nil: undefined },
  ),
})

describe('fillDocument', () => {
  test.prop([inputs, facts, fc.string({ unit: 'grapheme' }), fc.integer({ min: 0, max: 100 })])(
    'writes valid JSON with every slot filled, whatever stands around it',
    (given, someFacts, text, coveragePct) => {
      const document = jsonOf(given, text)
      const filled = fillDocument(document, answerOf(document, given, coveragePct), someFacts)
      const body = JSON.parse(filled.toString()) as Filled
      expect(body.text).toBe(text)
      expect(body.ages).toHaveLength(given.length)
      expect(body.coins).toBe(someFacts.coinsAvailable)
      expect(body.ms).toBeCloseTo(someFacts.executionMs, 3)
      expect(body.requested_coin).toBe(someFacts.requested?.ticker)
      expect(body.quality.coverage_pct).toBe(coveragePct)
      expect(body.quality.reasons).toEqual(body.warnings)
    },
  )

  test.prop([inputs, facts])('prints every age to the millisecond', (given, someFacts) => {
    const document = jsonOf(given, '')
    const filled = fillDocument(document, answerOf(document, given, 100), someFacts)
    const body = JSON.parse(filled.toString()) as Filled
    const agesMs = given.map(({ confirmedAtMs }) => Math.max(0, NOW_MS - confirmedAtMs))
    expect(body.ages.map((age) => Math.round(age * 1_000))).toEqual(agesMs)
    const loadBearing = agesMs.filter((_, index) => given[index]?.isLoadBearing === true)
    const oldestMs = loadBearing.length > 0 ? Math.max(...loadBearing) : 7
    expect(Math.round(body.data_age_seconds * 1_000)).toBe(oldestMs)
    expect(filled.toString()).not.toMatch(/\d\.\d{4}/)
    expect(body.warning).toBe(oldestMs > 7_200_000 ? 'stale_data' : undefined)
  })

  test('composes a view from some of the parts', () => {
    const document = pulseLikeDocument({ coin: 'BTC', confirmedAtMs: NOW_MS - 1_234 })
    const view = document.views['4h']
    if (view?.kind !== 'answer') throw new Error('the view is an answer')
    const filled = fillDocument(document, view, {
      nowMs: NOW_MS,
      executionMs: 0.12345,
      coinsAvailable: 3,
    })
    const body = JSON.parse(filled.toString())
    expect(Object.keys(body.timeframes)).toEqual(['4h'])
    expect(body.timeframes['4h'].candle_freshness_seconds).toBe(1.234)
    expect(body.meta).toMatchObject({
      execution_ms: 0.123,
      coins_available: 3,
      data_age_seconds: 1.234,
      warnings: [],
      quality: { grade: 'A', coverage_pct: 100, reasons: [] },
    })
  })

  test('writes the parts of a run in place, each age by its own instant', () => {
    const { bytes, parts } = layOut([
      '[',
      { kind: 'age', confirmedAtMs: NOW_MS - 1_500 },
      ',',
      { kind: 'age', confirmedAtMs: NOW_MS + 10 },
      ']',
    ])
    const run = { kind: 'run', from: 1, to: 4 } as const
    const document: Document = { ...jsonOf([], ''), bytes, parts: [...parts, run] }
    const answer = { kind: 'answer', inputs: [], coveragePct: 100, warnings: [] } as const
    const facts = { nowMs: NOW_MS, executionMs: 0, coinsAvailable: 0 }
    const whole = fillDocument(document, { ...answer, parts: [0, 5, 4] }, facts)
    expect(whole.toString(), 'an age is never negative').toBe('[1.5,0]')
  })

  test('names the requested token by the member name of the answer', () => {
    const { bytes, parts } = layOut([
      '{"token":"kPEPE"',
      { kind: 'requested-coin', member: 'requested_token' },
      '}',
    ])
    const filled = fillDocument(
      { ...jsonOf([], ''), bytes, parts },
      { kind: 'answer', parts: [0, 1, 2], inputs: [], coveragePct: 100, warnings: [] },
      {
        nowMs: NOW_MS,
        executionMs: 0,
        coinsAvailable: 0,
        requested: { ticker: 'PEPE', unitMultiplier: 1_000 },
      },
    )
    expect(JSON.parse(filled.toString())).toEqual({
      token: 'kPEPE',
      requested_token: 'PEPE',
      unit_multiplier: 1_000,
    })
  })

  test.prop([inputs, inputs, facts])(
    'writes a component among others as it would be alone',
    (one, other, someFacts) => {
      const together = [one, other].map((given) => ({
        inputs: given,
        coveragePct: given === one ? 90 : 100,
        warnings: given === one ? (['short_history'] as const) : [],
      }))
      const document = { ...jsonOf([], ''), ...layOut(componentSlots([one, other])) }
      const parts = document.parts.map((_, index) => index)
      const whole = { kind: 'answer', parts, inputs: [], coveragePct: 100, warnings: [] } as const
      const filled = fillDocument(document, { ...whole, components: together }, someFacts)
      const alone = together.map((basis) => {
        const single = { ...document, ...layOut(componentSlots([basis.inputs], false)) }
        const indices = single.parts.map((_, index) => index)
        return fillDocument(single, { kind: 'answer', parts: indices, ...basis }, someFacts)
      })
      expect(filled.toString()).toBe(Buffer.concat(alone).toString())
    },
  )

  test('throws for a slot of a missing component', () => {
    const { bytes, parts } = layOut([{ kind: 'freshness', of: 1 }])
    const basis = { inputs: [], coveragePct: 100, warnings: [] }
    const answer = { kind: 'answer', parts: [0], ...basis, components: [basis] } as const
    const facts = { nowMs: NOW_MS, executionMs: 0, coinsAvailable: 0 }
    expect(() => fillDocument({ ...jsonOf([], ''), bytes, parts }, answer, facts)).toThrow(
      'names component 1',
    )
  })

  test('throws for a slot whose input the view lacks', () => {
    const { bytes, parts } = layOut([{ kind: 'input-age', input: 'absent' }])
    const document = { ...jsonOf([], ''), bytes, parts }
    expect(() =>
      fillDocument(
        document,
        { kind: 'answer', parts: [0], inputs: [], coveragePct: 100, warnings: [] },
        { nowMs: NOW_MS, executionMs: 0, coinsAvailable: 0 },
      ),
    ).toThrow('names input absent')
  })
})

/** Of each of them `[age,age,…]{<freshness>}`, with slots of that component or of the answer as a whole. */
function componentSlots(
  components: readonly (readonly Input[])[],
  isAmongOthers = true,
): (string | Slot)[] {
  return components.flatMap((given, index): (string | Slot)[] => {
    const of = isAmongOthers ? { of: index } : {}
    const ages = given.flatMap(({ name }): (string | Slot)[] => [
      { kind: 'input-age', input: name, ...of },
      ',',
    ])
    return ['[', ...ages, ']{', { kind: 'freshness', ...of }, '}']
  })
}

type Filled = {
  readonly text: string
  readonly ages: readonly number[]
  readonly coins: number
  readonly ms: number
  readonly requested_coin?: string
  readonly data_age_seconds: number
  readonly warning?: string
  readonly warnings: readonly string[]
  readonly quality: { readonly coverage_pct: number; readonly reasons: readonly string[] }
}

/** `{"text":…,"ages":[…],"coins":…,"ms":…,<freshness><requested>}`, rendered 7 ms ago. */
function jsonOf(given: readonly Input[], text: string): Document {
  const ages = given.flatMap(({ name }, index): (string | Slot)[] => [
    ...(index === 0 ? [] : [',']),
    { kind: 'input-age', input: name },
  ])
  const { bytes, parts } = layOut([
    `{"text":${JSON.stringify(text)},"ages":[`,
    ...ages,
    '],"coins":',
    { kind: 'coins-available' },
    ',"ms":',
    { kind: 'execution-ms' },
    ',',
    { kind: 'freshness' },
    { kind: 'requested-coin' },
    '}',
  ])
  return { key: 'pulse/BTC', version: 1, renderedAtMs: NOW_MS - 7, bytes, parts, views: {} }
}

function answerOf(document: Document, given: readonly Input[], coveragePct: number): Answer {
  const parts = document.parts.map((_, index) => index)
  return { kind: 'answer', parts, inputs: given, coveragePct, warnings: [] }
}
