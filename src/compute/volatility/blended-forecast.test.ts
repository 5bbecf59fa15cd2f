import { describe, expect, test } from 'vitest'
import { blendedForecast } from './blended-forecast.ts'
import { ewmaForecast } from './ewma-forecast.ts'
import { HAR_CLOSES_MAX, harForecast } from './har-forecast.ts'
import { clusteredCloses } from './testing/clustered-closes.ts'

const DAY = 24

describe('EWMA forecast of volatility', () => {
  test('equals its definition, with the errors of its own past', () => {
    const closes = clusteredCloses(5, HAR_CLOSES_MAX)
    const squares = returnsOf(closes).map((move) => move ** 2)
    const weighted = squares.map((_, last) => weightedMean(squares.slice(0, last + 1)))
    const ratios: number[] = []
    for (let last = DAY - 1; last + DAY < squares.length; last += 1) {
      const following = squares.slice(last + 1, last + 1 + DAY)
      const realised = following.reduce((sum, square) => sum + square, 0) / DAY
      ratios.push(Math.log(realised / (weighted[last] ?? 0)) / 2)
    }
    const mean = ratios.reduce((sum, ratio) => sum + ratio, 0) / ratios.length
    const variance = ratios.reduce((sum, ratio) => sum + (ratio - mean) ** 2, 0) / ratios.length
    const forecast = ewmaForecast(closes)
    const yearly = 100 * Math.sqrt((weighted.at(-1) ?? 0) * 365 * 24) * Math.exp(mean)
    expect(forecast?.volatilityPct).toBeCloseTo(yearly, 8)
    expect(forecast?.logDeviation).toBeCloseTo(Math.sqrt(variance), 8)
  })

  test('needs two weeks of past forecasts, and moves', () => {
    expect(ewmaForecast(clusteredCloses(5, 300))).toBeNull()
    expect(ewmaForecast(new Float64Array(HAR_CLOSES_MAX).fill(100))).toBeNull()
  })
})

describe('blended forecast', () => {
  test('is the geometric mean of both, with the mean of their spreads', () => {
    const closes = clusteredCloses(7, HAR_CLOSES_MAX)
    const [har, ewma] = [harForecast(closes), ewmaForecast(closes)]
    const blend = blendedForecast(har, ewma)
    expect(blend?.volatilityPct).toBeCloseTo(
      Math.sqrt((har.volatilityPct ?? 0) * (ewma?.volatilityPct ?? 0)),
      10,
    )
    const harDeviation = (har.outOfSampleErrorPct ?? 0) / 100 / 0.67449
    expect(blend?.logDeviation).toBeCloseTo((harDeviation + (ewma?.logDeviation ?? 0)) / 2, 10)
    expect(blendedForecast({ ...har, volatilityPct: null }, ewma)).toBeNull()
  })
})

function returnsOf(closes: ArrayLike<number>): number[] {
  return Array.from({ length: closes.length - 1 }, (_, at) =>
    Math.log((closes[at + 1] as number) / (closes[at] as number)),
  )
}

/** Weights 0.97 to the power of the age; of fewer than 34 returns their mean. */
function weightedMean(squares: readonly number[]): number {
  return squares.reduce(
    (mean, square, at) => mean + (square - mean) * Math.max(0.03, 1 / (at + 1)),
    0,
  )
}
