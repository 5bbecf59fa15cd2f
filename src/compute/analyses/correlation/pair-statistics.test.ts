import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { naiveCoefficients } from '../../../../test/golden/naive-correlation.ts'
import { coins, correlationsOf, difference } from './testing/returns.ts'

describe('correlations from the returns', () => {
  property.prop([coins({ min: 1, max: 9 }, { min: 2, max: 40 }, 0)])(
    'equal the definition without gaps',
    (rows) => {
      expect(difference(correlations(rows), naive(rows))).toBeLessThan(1e-9)
    },
  )

  property.prop([coins({ min: 1, max: 9 }, { min: 2, max: 40 }, 15)])(
    'equal the definition over the common hours of each pair',
    (rows) => {
      expect(difference(correlations(rows), naive(rows))).toBeLessThan(1e-9)
    },
  )

  property.prop([coins({ min: 2, max: 9 }, { min: 3, max: 40 }, 10)])(
    'are symmetric, at most 1 either way, and 1 with oneself',
    (rows) => {
      const values = correlations(rows)
      for (let a = 0; a < rows.length; a += 1) {
        for (let b = 0; b < rows.length; b += 1) {
          const r = values[a * rows.length + b] as number
          expect(Object.is(r, values[b * rows.length + a])).toBe(true)
          if (!Number.isNaN(r)) expect(Math.abs(r)).toBeLessThanOrEqual(1)
          if (a === b && !Number.isNaN(r)) expect(r).toBe(1)
        }
      }
    },
  )

  property.prop([coins({ min: 2, max: 9 }, { min: 3, max: 40 }, 0), fc.array(fc.double())])(
    'never give a portfolio a negative variance without gaps',
    (rows, weights) => {
      const values = correlations(rows)
      let variance = 0
      let scale = 0
      for (let a = 0; a < rows.length; a += 1) {
        for (let b = 0; b < rows.length; b += 1) {
          const r = values[a * rows.length + b] as number
          const product = weightOf(weights, a) * weightOf(weights, b)
          if (Number.isNaN(r)) continue
          variance += r * product
          scale += Math.abs(product)
        }
      }
      expect(variance).toBeGreaterThanOrEqual(-1e-12 * scale)
    },
  )

  property.prop([
    coins({ min: 2, max: 9 }, { min: 3, max: 40 }, 10),
    fc.array(fc.nat(), { minLength: 9, maxLength: 9 }),
  ])('do not depend on the order of the coins', (rows, keys) => {
    const order = rows.map((_, row) => row).sort((a, b) => (keys[a] ?? 0) - (keys[b] ?? 0))
    const values = correlations(rows)
    const permuted = correlations(order.map((row) => rows[row] as number[]))
    const expected = order.flatMap((a) => order.map((b) => values[a * rows.length + b] as number))
    expect(difference(permuted, expected)).toBeLessThan(1e-12)
  })

  property.prop([
    coins({ min: 2, max: 5 }, { min: 3, max: 40 }, 10),
    fc.integer({ min: -6, max: 6 }),
  ])('do not depend on the unit of a price', (rows, magnitude) => {
    const values = correlations(rows)
    // Prices from the returns, in another unit, and back: the unit is in no return.
    const rescaled = rows.map((returns) => fromPrices(returns, 100 * 10 ** magnitude))
    const original = rows.map((returns) => fromPrices(returns, 100))
    expect(difference(correlations(rescaled), correlations(original))).toBeLessThan(1e-9)
    expect(difference(correlations(original), values)).toBeLessThan(1e-6)
  })

  test('a constant coin has no correlation and does not affect the others', () => {
    const moving = [0.01, -0.02, 0.015, 0.03]
    const other = [0.02, -0.01, 0.01, 0.02]
    const flat = [0, 0, 0, 0]
    const values = correlations([moving, flat, other])
    for (const at of [1, 3, 4, 5, 7]) expect(values[at]).toBeNaN()
    expect(values[2]).toBeCloseTo(naiveCoefficients(moving, other).r, 12)
  })

  test('a coin that rises by the same share every hour does not move against its mean', () => {
    const steady = Array.from({ length: 40 }, () => Math.log(1.01))
    const moving = Array.from({ length: 40 }, (_, at) => Math.sin(at) / 100)
    expect(correlations([steady, moving])[1]).toBeNaN()
    expect(correlations([steady, [...moving.slice(1), Number.NaN]])[1]).toBeNaN()
  })

  test('keeps its digits if only the common hours are quiet', () => {
    // Before the young coin came, the old one fell by half and more, hour after hour.
    const fall = Array.from({ length: 20 }, (_, at) => -0.7 - at / 1000)
    const quiet = Array.from({ length: 20 }, (_, at) => 1e-6 * Math.sin(at * at))
    const young = Array.from({ length: 20 }, (_, at) => 1e-3 * Math.cos(at))
    const old = [...fall, ...quiet]
    const rows = [old, [...fall.map(() => Number.NaN), ...young]]
    expect(difference(correlations(rows), naive(rows))).toBeLessThan(1e-9)
  })

  test('a pair with too few common hours has no correlation', () => {
    const rows = [
      [0.01, -0.02, 0.03, 0.01],
      [Number.NaN, 0.01, -0.02, 0.04],
    ]
    const values = correlationsOf(rows, 4)
    expect([...values]).toEqual([1, Number.NaN, Number.NaN, Number.NaN])
  })
})

function correlations(rows: readonly (readonly number[])[]): Float64Array {
  return correlationsOf(rows, 2)
}

/** From the definition; what deviates by less than rounding does not move. */
function naive(rows: readonly (readonly number[])[]): number[] {
  return rows.flatMap((xs, a) =>
    rows.map((ys, b) => {
      const common = xs
        .map((_, at) => at)
        .filter((at) => !Number.isNaN((xs[at] ?? 0) + (ys[at] ?? 0)))
      const x = common.map((at) => xs[at] as number)
      const y = common.map((at) => ys[at] as number)
      if (common.length < 2 || isFlat(x) || isFlat(y)) return Number.NaN
      return a === b ? 1 : naiveCoefficients(x, y).r
    }),
  )
}

function isFlat(values: readonly number[]): boolean {
  return Math.max(...values) - Math.min(...values) < 1e-12
}

function weightOf(weights: readonly number[], row: number): number {
  const weight = weights[row % Math.max(1, weights.length)] ?? 1
  return Number.isFinite(weight) && Math.abs(weight) < 1e6 ? weight : 1
}

function fromPrices(returns: readonly number[], start: number): number[] {
  let price = start
  return returns.map((logReturn) => {
    if (Number.isNaN(logReturn)) return Number.NaN
    const before = price
    price = before * Math.exp(logReturn)
    return Math.log(price / before)
  })
}
