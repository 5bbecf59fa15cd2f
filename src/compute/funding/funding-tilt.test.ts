import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { PulsePool } from '../indicators/pulse-series.ts'
import { newMarket } from '../testing/new-market.ts'
import { BOUNDARY_MS, context, NOW_MS, universe } from '../testing/tape.ts'
import { annualizedPctOf, fundingTilt } from './funding-tilt.ts'

const HOUR_MS = 3_600_000

describe('funding tilt', () => {
  test('is unknown before a context was received', () => {
    const market = newMarket(new PulsePool(3))
    market.apply(universe(['BTC']))
    expect(market.coin('BTC') && fundingTilt(market.coin('BTC') as never)).toBeNull()
  })

  test.each([
    [0.0000188, 'LONG_PAYING'],
    // One and a half times the interest part itself is no tilt yet.
    [0.00001875, 'NEUTRAL'],
    [0.0000125, 'NEUTRAL'],
    [0, 'NEUTRAL'],
    [-1e-8, 'SHORT_PAYING'],
    // As printed: 0 and 0.00001875.
    [-1e-10, 'NEUTRAL'],
    [0.000018752, 'NEUTRAL'],
  ])('a rate of %d an hour is %s', (rate, bias) => {
    expect(tiltOf(rate, []).bias).toBe(bias)
  })

  test('the baseline is 10.95 % a year', () => {
    expect(annualizedPctOf(0.0000125, 1)).toBeCloseTo(10.95, 10)
    expect(annualizedPctOf(0.0001, 8)).toBeCloseTo(10.95, 10)
  })

  property.prop([
    fc.double({ min: -0.04, max: 0.04, noNaN: true }),
    fc.constantFrom(1, 2, 4, 8, 24),
  ])('annualised percent is rate x (24 / interval) x 365 x 100', (rate, intervalHours) => {
    expect(annualizedPctOf(rate, intervalHours)).toBeCloseTo((rate * 876_000) / intervalHours, 9)
  })

  // Mean 0, deviation 1e-5: half of the hours at either side.
  const balanced = Array.from({ length: 200 }, (_, hour) => (hour % 2 === 0 ? 1e-5 : -1e-5))

  test('of a builder-deployed perpetual has no label: its baseline is its own', () => {
    for (const rate of [1e-3, 0, -1e-3])
      expect(tiltOf(rate, balanced, 'xyz:TSLA')).toMatchObject({
        bias: 'UNKNOWN',
        crowding: 'UNKNOWN',
      })
  })

  /** Rates of -100e-6 to 99e-6, each an hour. */
  const ladder = Array.from({ length: 200 }, (_, hour) => (hour - 100) * 1e-6)

  test.each([
    [69.5e-6, 'MODERATE', 85],
    [67.5e-6, 'LOW', 84],
    [93.5e-6, 'MODERATE', 97],
    [95.5e-6, 'HIGH', 98],
    [99.5e-6, 'EXTREME', 100],
    [-70.5e-6, 'MODERATE', 15],
    [-68.5e-6, 'LOW', 16],
    [-96.5e-6, 'HIGH', 2],
    [-101e-6, 'EXTREME', 0],
    // A neutral rate is LOW, whatever its rank.
    [18e-6, 'LOW', 59],
  ])('a rate of %d is crowding %s at percentile %d', (rate, crowding, percentile) => {
    expect(tiltOf(rate, ladder)).toMatchObject({ crowding, percentile })
  })

  test('crowding is by rank: most hours at the baseline do not make the others extreme', () => {
    // 640 of 720 hours at the baseline, 80 at twice to ten times of it.
    const rates = Array.from({ length: 720 }, (_, hour) =>
      hour < 640 ? 12.5e-6 : 12.5e-6 * (2 + (hour - 640) / 10),
    )
    const usual = tiltOf(12.5e-6 * 6, rates)
    expect(usual.zscore, 'a z-score calls an ordinary rate of this coin unusual').toBeGreaterThan(2)
    expect(usual).toMatchObject({ crowding: 'MODERATE', percentile: 95 })
    expect(tiltOf(12.5e-6, rates).crowding).toBe('LOW')
    expect(tiltOf(12.6e-6, rates).crowding, 'just above the baseline neither side is crowded').toBe(
      'LOW',
    )
  })

  test('longs that pay less than usual are not crowded', () => {
    const dear = Array.from({ length: 720 }, (_, hour) => 1e-4 + hour * 1e-8)
    const cheap = tiltOf(5e-5, dear)
    expect(cheap).toMatchObject({ bias: 'LONG_PAYING', percentile: 0, crowding: 'LOW' })
    expect(cheap.zscore).toBeLessThan(-3)
  })

  test.each([
    [-2e-5, 0],
    [-1e-5, 25],
    [0, 50],
    [1e-5, 75],
    [2e-5, 100],
  ])('ranks %d among as many hours at -1e-5 as at 1e-5 at %d', (rate, percentile) => {
    expect(tiltOf(rate, balanced).percentile).toBe(percentile)
  })

  test.each([
    { what: 'fewer than 168 hours', rates: balanced.slice(0, 167) },
    { what: 'no hours', rates: [] },
  ])('$what give no rank, no z-score and unknown crowding', ({ rates }) => {
    expect(tiltOf(1e-5, rates)).toMatchObject({
      percentile: null,
      zscore: null,
      crowding: 'UNKNOWN',
    })
  })

  test('168 hours are enough', () => {
    expect(tiltOf(1e-5, balanced.slice(0, 168)).percentile).toBe(75)
  })

  test('hours of equal rates give a rank, and no z-score', () => {
    const equal = new Array<number>(400).fill(0.0000125)
    expect(tiltOf(0.0000125, equal)).toMatchObject({
      percentile: 50,
      zscore: null,
      crowding: 'LOW',
    })
  })
})

/** Of a running rate, after hours of these rates. */
function tiltOf(fundingRateHourly: number, rates: readonly number[], name = 'BTC') {
  const market = newMarket(new PulsePool(3))
  market.apply(universe([name]))
  const rows = rates.map((rateHourly, index) => ({
    coin: name,
    timeMs: BOUNDARY_MS - (rates.length - 1 - index) * HOUR_MS,
    rateHourly,
    premium: null,
    isSettled: true,
  }))
  const stamp = { timeExchangeMs: NOW_MS, timeReceivedMs: NOW_MS }
  market.apply({ kind: 'funding-history', coin: name, rows, ...stamp })
  const coin = market.apply(context(name, { fundingRateHourly }))
  const tilt = coin && fundingTilt(coin)
  if (tilt === null) throw new Error('a coin with figures has a tilt')
  return tilt
}
