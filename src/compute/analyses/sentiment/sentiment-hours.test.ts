import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import type { Bar } from '../../../domain/bar.ts'
import { hasSharedCandles, sharedBars } from '../../testing/bars.ts'
import { HourlyCloses } from '../../volatility/hourly-closes.ts'
import { hourlySentiment, SentimentHours } from './sentiment-hours.ts'

const HOUR_MS = 3_600_000
const FIRST_HOUR = 500_000

const prices = fc.array(fc.double({ min: 0.5, max: 2, noNaN: true }), {
  minLength: 24,
  maxLength: 300,
  size: 'max',
})

describe('the sentiment of hours', () => {
  property.prop([prices], { numRuns: 40 })('is what the definition says', (closes) => {
    const sentiment = hourlySentiment(Float64Array.from(closes))
    expect(sentiment.dayAverage).toBeCloseTo(averageOf(closes, 24), 9)
    if (closes.length < 168) expect(sentiment.weekAverage).toBeNaN()
    else expect(sentiment.weekAverage).toBeCloseTo(averageOf(closes, 168), 9)
    const { rank, downside } = dayOf(closes)
    if (Number.isNaN(rank)) expect(sentiment.volatilityPercentile).toBeNaN()
    else expect(sentiment.volatilityPercentile).toBeCloseTo(rank, 9)
    if (closes.length >= 25) expect(sentiment.downsideShare).toBeCloseTo(downside, 9)
  })

  property.prop([prices, fc.double({ min: 1e-6, max: 1e6, noNaN: true })], { numRuns: 40 })(
    'does not depend on the unit of the price',
    (closes, unit) => {
      const one = hourlySentiment(Float64Array.from(closes))
      const other = hourlySentiment(Float64Array.from(closes, (close) => close * unit))
      expect(other.dayAverage / unit).toBeCloseTo(one.dayAverage, 9)
      if (!Number.isNaN(one.downsideShare))
        expect(other.downsideShare).toBeCloseTo(one.downsideShare, 9)
    },
  )

  test('a market that does not move is neither calm nor wild, and fell on neither side', () => {
    const sentiment = hourlySentiment(new Float64Array(744).fill(5))
    expect(sentiment).toEqual({
      dayAverage: expect.closeTo(5, 12),
      weekAverage: expect.closeTo(5, 12),
      weekAgoPrice: 5,
      volatilityPercentile: 50,
      downsideShare: 0.5,
    })
  })

  test('a day that only fell is all downside, the wildest of its month', () => {
    const closes = Float64Array.from({ length: 744 }, (_, hour) => 0.99 ** Math.max(0, hour - 719))
    const sentiment = hourlySentiment(closes)
    expect(sentiment.downsideShare).toBe(1)
    expect(sentiment.volatilityPercentile).toBeGreaterThan(99)
  })

  test('an hour without a close had no trade, and keeps the one before', () => {
    const [whole, holed] = [new HourlyCloses(), new HourlyCloses()]
    for (let hour = 0; hour < 200; hour += 1) {
      const price = 1 + Math.sin(Math.floor(hour / 2))
      whole.apply(hourly([bar(hour, 2 + price)]))
      if (hour % 2 === 0) holed.apply(hourly([bar(hour, 2 + price)]))
    }
    const last = FIRST_HOUR + 199
    expect(new SentimentHours().of(holed, last)).toEqual(new SentimentHours().of(whole, last))
  })

  test('of a coin whose last close is a day old nothing is known', () => {
    const closes = new HourlyCloses()
    for (let hour = 0; hour < 200; hour += 1) closes.apply(hourly([bar(hour, 2)]))
    const hours = new SentimentHours()
    expect(hours.of(closes, FIRST_HOUR + 199 + 23).dayAverage).toBeCloseTo(2, 12)
    expect(hours.of(closes, FIRST_HOUR + 199 + 24).dayAverage).toBeNaN()
  })

  test('is measured again when an old hour is corrected', () => {
    const closes = new HourlyCloses()
    for (let hour = 0; hour < 100; hour += 1) closes.apply(hourly([bar(hour, 2)]))
    const hours = new SentimentHours()
    const last = FIRST_HOUR + 99
    const before = hours.of(closes, last)
    expect(hours.of(closes, last), 'and not without need').toBe(before)
    closes.apply(hourly([bar(90, 3)]))
    expect(hours.of(closes, last).dayAverage).toBeGreaterThan(before.dayAverage)
  })

  test.skipIf(!hasSharedCandles)(
    'agrees with the definition on real hours of BTC (shared data)',
    () => {
      const closes = sharedBars('BTC', '1h')
        .map(({ close }) => close)
        .slice(-744)
      const sentiment = hourlySentiment(Float64Array.from(closes))
      const { rank, downside } = dayOf(closes)
      expect(closes.length).toBe(744)
      expect(sentiment.volatilityPercentile).toBeCloseTo(rank, 9)
      expect(sentiment.downsideShare).toBeCloseTo(downside, 9)
      expect(sentiment.weekAverage).toBeCloseTo(averageOf(closes, 168), 6)
    },
  )
})

/** Weights (1 - 2 / (n + 1)) ^ age over the last 3 n hours. */
function averageOf(closes: readonly number[], length: number): number {
  let [sum, weights] = [0, 0]
  for (const [age, close] of closes
    .toReversed()
    .slice(0, 3 * length)
    .entries()) {
    const weight = (1 - 2 / (length + 1)) ** age
    sum += weight * close
    weights += weight
  }
  return sum / weights
}

/** By the whole list of returns each time. */
function dayOf(closes: readonly number[]): { rank: number; downside: number } {
  const moves = closes.slice(1).map((close, at) => Math.log(close / (closes[at] as number)))
  const variance = (of: readonly number[]) => of.reduce((sum, move) => sum + move * move, 0)
  const days: number[] = []
  for (let from = 0; from + 24 <= moves.length; from += 1)
    days.push(variance(moves.slice(from, from + 24)))
  const last = days.at(-1) ?? Number.NaN
  const points = days.map((day) => (day < last ? 1 : day === last ? 0.5 : 0) as number)
  const rank = (100 * points.reduce((sum, one) => sum + one, 0)) / days.length
  return {
    rank: days.length < 168 ? Number.NaN : rank,
    downside: variance(moves.slice(-24).filter((move) => move < 0)) / last,
  }
}

function bar(hour: number, close: number): Bar {
  const openTimeMs = (FIRST_HOUR + hour) * HOUR_MS
  return { openTimeMs, open: close, high: close, low: close, close, volumeBase: 1 }
}

function hourly(bars: readonly Bar[]) {
  const nowMs = (FIRST_HOUR + 1_000) * HOUR_MS
  const at = { timeExchangeMs: nowMs, timeReceivedMs: nowMs }
  return { kind: 'hourly-history' as const, coin: 'BTC', bars, ...at }
}
