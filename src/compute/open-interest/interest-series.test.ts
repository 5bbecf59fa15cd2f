import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { naiveStatistics } from '../../../test/golden/naive-statistics.ts'
import type { MarketSample } from '../../domain/history.ts'
import { PulsePool } from '../indicators/pulse-series.ts'
import { newMarket } from '../testing/new-market.ts'
import { BOUNDARY_MS, context, NOW_MS, universe } from '../testing/tape.ts'
import { InterestSeries, interestSeries } from './interest-series.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const now = { timeExchangeMs: NOW_MS, timeReceivedMs: NOW_MS }

describe('interest series', () => {
  test('a change is of contracts, of the mark and of both together, from the reading of then', () => {
    const series = seriesOf([[60, 1_000, 100]])
    const change = series.change(
      context('BTC', { openInterestBase: 1_100, markPrice: 90 }),
      HOUR_MS,
    )
    expect(change).toEqual({
      seconds: 3_605,
      interestPct: expect.closeTo(10, 9),
      pricePct: expect.closeTo(-10, 9),
      notionalPct: expect.closeTo(-1, 9),
    })
  })

  test.each([
    { window: '5 minutes', minutes: 5, offMs: 30_000 },
    { window: '1 hour', minutes: 60, offMs: 6 * MINUTE_MS },
    { window: '4 hours', minutes: 240, offMs: 24 * MINUTE_MS },
    { window: '24 hours', minutes: 1_440, offMs: HOUR_MS },
    { window: '7 days', minutes: 10_080, offMs: HOUR_MS },
  ])('a reading at most $offMs ms off stands for $window ago', ({ minutes, offMs }) => {
    const windowMs = minutes * MINUTE_MS
    const reading = seriesOf([[minutes, 1_000, 100]])
    const readAtMs = BOUNDARY_MS - windowMs
    const changeAt = (atMs: number) =>
      reading.change(context('BTC', { timeExchangeMs: atMs }), windowMs)
    for (const off of [offMs, -offMs]) {
      expect(changeAt(readAtMs + windowMs + off)?.seconds).toBe((windowMs + off) / 1_000)
      expect(changeAt(readAtMs + windowMs + off + Math.sign(off))).toBeNull()
    }
  })

  test('the nearest of several readings is taken', () => {
    const series = seriesOf([
      [58, 900, 100],
      [61, 1_000, 100],
      [63, 1_100, 100],
    ])
    expect(series.change(context('BTC'), HOUR_MS)?.seconds).toBe(61 * 60 + 5)
  })

  test('up to a day any minute will do, beyond it whole hours alone', () => {
    const series = seriesOf([
      [1_450, 1_000, 100],
      [10_070, 1_000, 100],
    ])
    expect(series.change(context('BTC'), 24 * HOUR_MS)?.seconds).toBe(1_450 * 60 + 5)
    expect(series.change(context('BTC'), 7 * 24 * HOUR_MS)).toBeNull()
  })

  test('no reading gives no change', () => {
    expect(seriesOf([]).change(context('BTC'), HOUR_MS)).toBeNull()
  })

  test('a reading while nothing was open gives the change of the price alone', () => {
    const now = context('BTC', { markPrice: 101 })
    expect(seriesOf([[60, 0, 100]]).change(now, HOUR_MS)).toEqual({
      seconds: 3_605,
      interestPct: Number.NaN,
      pricePct: expect.closeTo(1, 9),
      notionalPct: Number.NaN,
    })
  })

  test('everything closed is a change of -100 percent', () => {
    const change = seriesOf([[60, 5, 100]]).change(context('BTC', { openInterestBase: 0 }), HOUR_MS)
    expect(change?.interestPct).toBe(-100)
  })

  test('the window holds whole hours alone', () => {
    const series = seriesOf([
      [0, 10, 1],
      [15, 99, 1],
      [120, 30, 1],
    ])
    const { contracts, spanHours } = series.window(NOW_MS)
    expect(contracts).toMatchObject({ count: 2, min: 10, max: 30 })
    expect([5, 10, 20].map((asked) => series.percentile(NOW_MS, asked))).toEqual([0, 25, 50])
    expect(spanHours).toBe(3)
    expect(series.hourly(NOW_MS, 24)).toEqual([
      { timeMs: BOUNDARY_MS - 2 * HOUR_MS, contracts: 30 },
      { timeMs: BOUNDARY_MS, contracts: 10 },
    ])
  })

  test('an hour that is not over by the asked instant is not in the window', () => {
    const series = seriesOf([[0, 10, 1]])
    expect(series.window(BOUNDARY_MS - 1).contracts.count).toBe(0)
  })

  test('computes its window once an hour, and again when a whole hour comes', () => {
    const series = seriesOf([[60, 10, 1]])
    const window = series.window(NOW_MS)
    series.sample(reading(1, 20, 1))
    expect(series.window(NOW_MS + 1_000)).toBe(window)
    series.sample(reading(0, 20, 1))
    expect(series.window(NOW_MS)).not.toBe(window)
  })

  property.prop([
    fc.array(fc.option(fc.integer({ min: 1, max: 200 }), { freq: 6 }), {
      maxLength: 800,
      size: 'max',
    }),
  ])('window and moves are those of the definition, with holes and beyond a month', (hours) => {
    const known = hours.flatMap((contracts, hour) =>
      contracts === null ? [] : [[hour, contracts] as const],
    )
    const series = seriesOf(known.map(([hour, contracts]) => [hour * 60, contracts, 1]))
    const month = new Map(known.filter(([hour]) => hour < 720))
    const moves = [...month].flatMap(([hour, contracts]) => {
      const before = month.get(hour + 4)
      return before === undefined ? [] : [(contracts / before - 1) * 100]
    })
    const window = series.window(NOW_MS)
    expect(window.spanHours).toBe(month.size === 0 ? 0 : Math.max(...month.keys()) + 1)
    expect(window.contracts.count).toBe(month.size)
    expect(window.moves.count).toBe(moves.length)
    if (moves.length > 0)
      expect(window.moves.deviation).toBeCloseTo(naiveStatistics(moves).deviation, 9)
  })

  test('what was remembered counts as what was read', () => {
    const [told, read] = [new InterestSeries(), new InterestSeries()]
    const samples = [reading(240, 5, 100), reading(60, 6, 101), reading(0, 7, 102)]
    told.apply({ kind: 'sample-history', coin: 'BTC', samples, ...now })
    for (const sample of samples) read.sample(sample)
    expect(told.window(NOW_MS)).toEqual(read.window(NOW_MS))
    expect(told.change(context('BTC'), 4 * HOUR_MS)).toEqual(
      read.change(context('BTC'), 4 * HOUR_MS),
    )
  })

  test('receives every minute of its coin', () => {
    const market = newMarket(new PulsePool(3))
    market.apply(universe(['BTC']))
    const coin = market.coin('BTC')
    coin?.sample(reading(60, 1_000, 100))
    expect(coin?.of(interestSeries).change(context('BTC'), HOUR_MS)).not.toBeNull()
  })
})

/** Readings as minutes before the boundary, contracts, mark. */
function seriesOf(readings: readonly (readonly [number, number, number])[]): InterestSeries {
  const series = new InterestSeries()
  const ascending = readings.toSorted(([one], [other]) => other - one)
  for (const [minutes, contracts, mark] of ascending)
    series.sample(reading(minutes, contracts, mark))
  return series
}

function reading(minutes: number, openInterestBase: number, markPrice: number): MarketSample {
  return {
    coin: 'BTC',
    timeMs: BOUNDARY_MS - minutes * MINUTE_MS,
    markPrice,
    oraclePrice: markPrice,
    openInterestBase,
    dayNotional: 1,
    fundingRateHourly: 0,
    premium: null,
    spreadBps: null,
    impactSpreadBps: null,
  }
}
