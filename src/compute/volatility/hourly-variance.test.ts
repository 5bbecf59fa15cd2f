import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { annualisedVolatilityPct } from './annualised-volatility.ts'
import { hourlyVariance, meanVariance } from './hourly-variance.ts'

const close = fc.oneof(
  { weight: 9, arbitrary: fc.double({ min: 50, max: 200, noNaN: true }) },
  { weight: 1, arbitrary: fc.constantFrom(Number.NaN, 0, -1, Number.POSITIVE_INFINITY) },
)

describe('hourly variance', () => {
  property.prop([
    fc.array(close, { maxLength: 80 }),
    fc.integer({ min: -2, max: 90 }),
    fc.integer({ min: 1, max: 40 }),
  ])(
    'is the mean square of the returns of the window, where three quarters are known',
    (closes, end, hours) => {
      const series = hourlyVariance(closes)
      const variance = meanVariance(series, end, hours)
      const isWithin = end - hours >= 0 && end < closes.length
      const squares = isWithin ? knownSquares(closes.slice(end - hours, end + 1)) : []
      if (squares.length < Math.max(1, 0.75 * hours)) expect(variance).toBeNaN()
      else
        expect(variance).toBeCloseTo(
          squares.reduce((sum, square) => sum + square, 0) / squares.length,
          12,
        )
    },
  )

  test('is exactly 0 where prices stood still, after a time in which they moved', () => {
    const closes = [...Array.from({ length: 500 }, (_, at) => 100 + Math.sin(at)), ...flat(30)]
    expect(meanVariance(hourlyVariance(closes), closes.length - 1, 24)).toBe(0)
  })

  test('1 % an hour is 93.6 % a year, 1 % a quarter of an hour twice that', () => {
    expect(annualisedVolatilityPct(0.0001, 3_600_000)).toBeCloseTo(93.5949, 4)
    expect(annualisedVolatilityPct(0.0001, 900_000)).toBeCloseTo(2 * 93.5949, 3)
    expect(annualisedVolatilityPct(Number.NaN, 900_000)).toBeNaN()
  })
})

function knownSquares(closes: readonly number[]): number[] {
  return closes
    .slice(1)
    .map((after, at) => [closes[at] ?? 0, after] as const)
    .filter((pair) => pair.every((price) => price > 0 && Number.isFinite(price)))
    .map(([before, after]) => (Math.log(after) - Math.log(before)) ** 2)
}

function flat(count: number): number[] {
  return Array.from({ length: count }, () => 70)
}
