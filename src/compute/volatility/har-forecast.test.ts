import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { seededNormal } from '../../../test/golden/seeded-normal.ts'
import type { HarForecast } from './har-forecast.ts'
import { HAR_CLOSES_MAX, HAR_CLOSES_MIN, harForecast, rollingForecasts } from './har-forecast.ts'
import { hourlyVariance } from './hourly-variance.ts'
import { clusteredCloses } from './testing/clustered-closes.ts'
import { naiveHar } from './testing/naive-har.ts'
import { volatilityRank } from './volatility-rank.ts'

const YEAR = 100 * Math.sqrt(365 * 24)

describe('HAR forecast', () => {
  test('the naive forecast at an hour is the volatility that the answer shows at that hour', () => {
    const closes = clusteredCloses(12, 800)
    const { forecasts } = rollingForecasts(hourlyVariance(closes))
    for (const { hour, naivePct } of forecasts.filter((_, at) => at % 50 === 0))
      expect(volatilityRank(closes.slice(0, hour + 1)).volatilityPct).toBeCloseTo(naivePct, 8)
  })

  test.each([0, 0.05])('equals its naive twin, holes included, with a penalty of %d', (penalty) => {
    const closes = clusteredCloses(21, 900).map((close, at) => (at % 37 === 5 ? Number.NaN : close))
    const { forecasts, nextPct } = rollingForecasts(hourlyVariance(closes), penalty)
    expect(forecasts.length).toBeGreaterThan(300)
    for (const { hour, forecastPct } of forecasts.filter((_, at) => at % 60 === 0)) {
      const naive = naiveHar(closes.slice(0, hour + 1), penalty, 336)
      expect(naive?.rows).toBeGreaterThanOrEqual(336)
      expect(forecastPct).toBeCloseTo(Math.sqrt(naive?.hourVariance ?? -1) * YEAR, 6)
    }
    const naive = naiveHar(closes, penalty, 336)
    expect(nextPct).toBeCloseTo(Math.sqrt(naive?.hourVariance ?? -1) * YEAR, 6)
  })

  property.prop([fc.integer(), fc.integer({ min: 540, max: 700 })], { numRuns: 20 })(
    'uses no later data',
    (seed, instant) => {
      const closes = clusteredCloses(seed, 760)
      const changed = closes.map((close, at) => (at > instant ? 100 + (at % 3) * 20 : close))
      const until = (series: readonly number[]) =>
        rollingForecasts(hourlyVariance(series))
          .forecasts.filter(({ hour }) => hour <= instant)
          .map(({ hour, forecastPct, naivePct }) => ({ hour, forecastPct, naivePct }))
      expect(until(changed)).toEqual(until(closes))
      expect(until(closes).at(-1)?.hour).toBe(instant)
    },
  )

  test('a past forecast equals the one made at that time', () => {
    const closes = clusteredCloses(8, 1_000)
    const { forecasts } = rollingForecasts(hourlyVariance(closes))
    for (const { hour, forecastPct } of forecasts.filter((_, at) => at % 100 === 0))
      expect(rollingForecasts(hourlyVariance(closes.slice(0, hour + 1))).nextPct).toBe(forecastPct)
  })

  test('compares with the next and the previous 24 hours', () => {
    const closes = clusteredCloses(9, 800)
    const { forecasts } = rollingForecasts(hourlyVariance(closes))
    const { hour, naivePct, realisedPct } = forecasts[50] ?? {
      hour: 0,
      naivePct: 0,
      realisedPct: 0,
    }
    const volatility = (from: number) => {
      const squares = Array.from(
        { length: 24 },
        (_, at) => Math.log((closes[from + at + 1] ?? 0) / (closes[from + at] ?? 0)) ** 2,
      )
      return Math.sqrt(squares.reduce((sum, square) => sum + square, 0) / 24) * YEAR
    }
    expect(realisedPct).toBeCloseTo(volatility(hour), 8)
    expect(naivePct).toBeCloseTo(volatility(hour - 24), 8)
    expect(forecasts.at(-1)?.hour).toBe(closes.length - 1 - 24)
  })

  test('finds the planted coefficients of a simulated HAR process', () => {
    const planted = [0.3, 0.35, 0.2]
    const series = hourlyVariance(harProcess(31, 480_000, planted))
    const slopes = rollingForecasts(series, 0).fit?.slopes ?? new Float64Array()
    // Over seeds 31 to 34 the estimates scatter by 0.01, 0.03 and 0.03 about them: week and month move together.
    for (const [at, within] of [0.03, 0.08, 0.08].entries())
      expect(Math.abs((slopes[at] ?? Number.NaN) - (planted[at] ?? 0))).toBeLessThan(within)
    expect(slopes.reduce((sum, slope) => sum + slope, 0)).toBeCloseTo(0.85, 1)
  })

  test('on that process it beats the naive forecast', () => {
    const of = [31, 32, 33, 34, 35, 36, 37, 38].map((seed) =>
      harForecast(harProcess(seed, HAR_CLOSES_MAX, [0.3, 0.35, 0.2])),
    )
    for (const { evaluations } of of) expect(evaluations).toBe(338)
    const sum = (read: (one: HarForecast) => number | null) =>
      of.reduce((total, one) => total + (read(one) ?? Number.NaN), 0)
    expect(sum((one) => one.outOfSampleErrorPct)).toBeLessThan(
      0.95 * sum((one) => one.naiveErrorPct),
    )
  })

  test('constant volatility is forecast without error', () => {
    const closes = Array.from({ length: 800 }, (_, at) => (at % 2 === 0 ? 100 : 101))
    const forecast = harForecast(closes)
    const expected = Math.log(1.01) * YEAR
    expect(forecast.volatilityPct).toBeCloseTo(expected, 6)
    expect(forecast.outOfSampleErrorPct).toBeCloseTo(0, 6)
    expect(forecast.naiveErrorPct).toBeCloseTo(0, 6)
  })

  property.prop([fc.integer(), fc.double({ min: 1e-3, max: 1e3, noNaN: true })], { numRuns: 20 })(
    'does not depend on the scale of prices',
    (seed, factor) => {
      const closes = clusteredCloses(seed, 760)
      const { volatilityPct, outOfSampleErrorPct } = harForecast(closes)
      const scaled = harForecast(closes.map((close) => close * factor))
      expect(scaled.volatilityPct).toBeCloseTo(volatilityPct ?? -1, 5)
      expect(scaled.outOfSampleErrorPct).toBeCloseTo(outOfSampleErrorPct ?? -1, 5)
    },
  )

  property.prop([fc.integer()], { numRuns: 20 })(
    'is positive and finite through a crash, holes and flat days',
    (seed) => {
      const closes = clusteredCloses(seed, 1_000).map((close, at) => {
        if (at % 29 === 3) return Number.NaN
        if (at > 400 && at < 450) return 50
        return at > 700 ? close / 4 : close
      })
      const { volatilityPct } = harForecast(closes)
      expect(volatilityPct).toBeGreaterThan(0)
      expect(volatilityPct).toBeLessThan(Number.POSITIVE_INFINITY)
    },
  )

  test('needs 720 closes and reads 37 days', () => {
    const closes = clusteredCloses(4, 2_300)
    const short = harForecast(closes.slice(0, HAR_CLOSES_MIN - 1))
    expect(short).toMatchObject({ volatilityPct: null, fittedOnHours: 719, evaluations: 168 })
    const least = harForecast(closes.slice(0, HAR_CLOSES_MIN))
    expect(least).toMatchObject({ fittedOnHours: 720, evaluations: 169 })
    expect(least.volatilityPct).toBeGreaterThan(0)
    expect(harForecast(closes)).toEqual(harForecast(closes.slice(-HAR_CLOSES_MAX)))
    expect(harForecast(closes).fittedOnHours).toBe(HAR_CLOSES_MAX)
  })

  test('reports the median errors of its forecasts, from 168 of them on', () => {
    const closes = clusteredCloses(14, HAR_CLOSES_MAX)
    const { forecasts, nextPct } = rollingForecasts(hourlyVariance(closes), 0.05)
    const median = (errors: readonly number[]) => {
      const ascending = errors.toSorted((one, other) => one - other)
      const [lower, upper] = [(errors.length - 1) >> 1, errors.length >> 1]
      return ((ascending[lower] ?? Number.NaN) + (ascending[upper] ?? Number.NaN)) / 2
    }
    const errorPct = (pct: number, realisedPct: number) => 100 * Math.abs(pct / realisedPct - 1)
    const { outOfSampleErrorPct, naiveErrorPct, volatilityPct } = harForecast(closes)
    expect(volatilityPct).toBe(nextPct)
    expect(outOfSampleErrorPct).toBeCloseTo(
      median(forecasts.map((origin) => errorPct(origin.forecastPct, origin.realisedPct))),
      9,
    )
    expect(naiveErrorPct).toBeCloseTo(
      median(forecasts.map((origin) => errorPct(origin.naivePct, origin.realisedPct))),
      9,
    )
    const few = harForecast(closes.slice(0, 718))
    expect(few).toMatchObject({ evaluations: 167, outOfSampleErrorPct: null, naiveErrorPct: null })
    expect(harForecast(closes.slice(0, 719)).naiveErrorPct).toBeGreaterThan(0)
  })

  test('a constant or unknown market has no forecast', () => {
    const nothing = { outOfSampleErrorPct: null, naiveErrorPct: null, evaluations: 0 }
    const flat = harForecast(new Float64Array(HAR_CLOSES_MAX).fill(7))
    expect(flat).toEqual({
      ...nothing,
      volatilityPct: null,
      fittedOnHours: HAR_CLOSES_MAX,
    })
    const empty = { ...nothing, volatilityPct: null, fittedOnHours: 0 }
    expect(harForecast([])).toEqual(empty)
    expect(harForecast(new Float64Array(900).fill(Number.NaN))).toEqual(empty)
    const closes = clusteredCloses(6, 900)
    const stale = [...closes, ...Array.from({ length: 7 }, () => Number.NaN)]
    expect(harForecast(stale).volatilityPct).toBeNull()
  })
})

/**
 * Closes whose variance over 24 h follows a HAR of levels exactly at every hour: each hour of the day has a daily HAR
 * of its own, and their sum is one. It moves by a few percent about its mean, where logs are linear to 1 %.
 */
function harProcess(seed: number, count: number, [day = 0, week = 0, month = 0]: number[]) {
  const normal = seededNormal(seed)
  const mean = 1e-4
  const burnIn = 24 * 200
  const variances: number[] = []
  const dayMean = (days: number) => {
    let sum = 0
    for (let back = 1; back <= days; back += 1)
      sum += variances[variances.length - 24 * back] ?? mean
    return sum / days
  }
  for (let hour = 0; hour < burnIn + count; hour += 1) {
    const expected = mean * (1 - day - week - month)
    const past = day * dayMean(1) + week * dayMean(7) + month * dayMean(30)
    variances.push(Math.max(0.1 * mean, expected + past + 0.1 * mean * normal()))
  }
  let log = 0
  return variances.slice(burnIn).map((variance, at) => {
    log += (at % 2 === 0 ? 1 : -1) * Math.sqrt(variance)
    return Math.exp(log)
  })
}
