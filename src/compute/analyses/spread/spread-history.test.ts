import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import { naiveDay } from '../../../../test/golden/naive-spread.ts'
import type { MarketSample } from '../../../domain/history.ts'
import { SpreadHistory } from './spread-history.ts'

const START_MS = Date.UTC(2026, 0, 1)
const MINUTE_MS = 60_000

const minutes = fc.array(
  fc.record({
    minute: fc.integer({ min: 0, max: 2_000 }),
    spreadBps: fc.oneof(fc.constant(null), fc.integer({ min: 1, max: 9 })),
  }),
  { minLength: 50, maxLength: 300, size: 'max' },
)

describe('spread history', () => {
  property.prop([minutes, fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: 10 })])(
    'compares as a search through all samples of the last day does',
    (given, laterMinutes, spreadBps) => {
      const samples = given
        .toSorted((one, other) => one.minute - other.minute)
        .map((one) => sample(one.minute, one.spreadBps))
      const history = new SpreadHistory()
      for (const one of samples) history.sample(one)
      const nowMs = (samples.at(-1)?.timeMs ?? 0) + laterMinutes * MINUTE_MS + 30_000
      const compared = history.compare(spreadBps, nowMs)
      const { percentile, ...others } = naiveDay(samples, spreadBps, nowMs)
      expect(compared).toMatchObject(others)
      if (percentile === null) expect(compared.percentile).toBeNull()
      else expect(compared.percentile).toBeCloseTo(percentile, 9)
    },
  )

  test('history counts like samples', () => {
    const samples = Array.from({ length: 90 }, (_, at) => sample(at, at))
    const [sampled, told] = [new SpreadHistory(), new SpreadHistory()]
    for (const one of samples) sampled.sample(one)
    const nowMs = START_MS + 90 * MINUTE_MS
    told.apply({
      kind: 'sample-history',
      coin: 'BTC',
      samples,
      timeExchangeMs: nowMs,
      timeReceivedMs: nowMs,
    })
    expect(told.compare(45, nowMs)).toEqual(sampled.compare(45, nowMs))
    expect(told.compare(45, nowMs).percentile).toBeCloseTo((45.5 / 90) * 100, 9)
  })

  test.each([
    { count: 59, isKnown: false },
    { count: 60, isKnown: true },
  ])('$count minutes are enough: $isKnown', ({ count, isKnown }) => {
    const history = new SpreadHistory()
    for (let at = 0; at < count; at += 1) history.sample(sample(at, 2))
    const { medianBps, percentile, n } = history.compare(2, START_MS + count * MINUTE_MS)
    expect(n).toBe(count)
    expect(medianBps).toBe(isKnown ? 2 : null)
    expect(percentile, 'a spread like all others is in the middle').toBe(isKnown ? 50 : null)
  })
})

function sample(minute: number, spreadBps: number | null): MarketSample {
  return {
    coin: 'BTC',
    timeMs: START_MS + minute * MINUTE_MS,
    markPrice: 100,
    oraclePrice: 100,
    openInterestBase: 1,
    dayNotional: 1,
    fundingRateHourly: 0,
    premium: null,
    spreadBps,
    impactSpreadBps: null,
  }
}
