import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { PulsePool } from '../indicators/pulse-series.ts'
import { BOUNDARY_MS, context, NOW_MS, universe } from '../testing/tape.ts'
import { annualizedPctOf, fundingTilt } from './funding-tilt.ts'
import { MarketState } from './market-state.ts'

const HOUR_MS = 3_600_000

describe('funding tilt', () => {
  test('is not known before the venue told anything', () => {
    const market = new MarketState(new PulsePool(3))
    market.apply(universe(['BTC']))
    expect(market.coin('BTC') && fundingTilt(market.coin('BTC') as never)).toBeNull()
  })

  test.each([
    [0.0000188, 'LONG_PAYING'],
    // One and a half times the interest part itself is no tilt yet.
    [0.00001875, 'NEUTRAL'],
    [0.0000125, 'NEUTRAL'],
    [0, 'NEUTRAL'],
    [-1e-10, 'SHORT_PAYING'],
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

  test.each([
    [0.99e-5, 'LOW'],
    [-1.01e-5, 'MODERATE'],
    [1.99e-5, 'MODERATE'],
    [2.01e-5, 'HIGH'],
    [-3.01e-5, 'EXTREME'],
  ])('a rate of %d against a deviation of 1e-5 is crowding %s', (rate, crowding) => {
    const tilt = tiltOf(rate, balanced)
    expect(tilt.zscore).toBeCloseTo(rate / 1e-5, 9)
    expect(tilt.crowding).toBe(crowding)
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

  test('hours of equal rates give a rank, and neither z-score nor crowding', () => {
    const equal = new Array<number>(400).fill(0.0000125)
    expect(tiltOf(0.0000125, equal)).toMatchObject({
      percentile: 50,
      zscore: null,
      crowding: 'UNKNOWN',
    })
  })
})

/** Of a running rate, after hours of these rates. */
function tiltOf(fundingRateHourly: number, rates: readonly number[]) {
  const market = new MarketState(new PulsePool(3))
  market.apply(universe(['BTC']))
  const rows = rates.map((rateHourly, index) => ({
    coin: 'BTC',
    timeMs: BOUNDARY_MS - (rates.length - 1 - index) * HOUR_MS,
    rateHourly,
    premium: null,
    isSettled: true,
  }))
  const stamp = { timeExchangeMs: NOW_MS, timeReceivedMs: NOW_MS }
  market.apply({ kind: 'funding-history', coin: 'BTC', rows, ...stamp })
  const coin = market.apply(context('BTC', { fundingRateHourly }))
  const tilt = coin && fundingTilt(coin)
  if (tilt === null) throw new Error('a coin with figures has a tilt')
  return tilt
}
