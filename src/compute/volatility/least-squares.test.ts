import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { seededNormal } from '../../../test/golden/seeded-normal.ts'
import { LeastSquares } from './least-squares.ts'
import { solveByQr } from './testing/naive-har.ts'

const value = fc.double({ min: -10, max: 10, noNaN: true })
const rows = fc.array(fc.tuple(value, value, value), { minLength: 6, maxLength: 40 })

describe('least squares', () => {
  test('of four points on paper', () => {
    const regression = new LeastSquares(1)
    for (const [x, y] of [
      [1, 6],
      [2, 5],
      [3, 7],
      [4, 10],
    ] as const)
      regression.add([x], y)
    // y = 3.5 + 1.4 x: the example of Wikipedia's "Linear least squares".
    expect(regression.fit()?.intercept).toBeCloseTo(3.5, 12)
    expect(regression.fit()?.slopes[0]).toBeCloseTo(1.4, 12)
    // Covariance 1.75, variance 1.25: a penalty of 1.25 halves the slope.
    expect(regression.fit(1.25)?.slopes[0]).toBeCloseTo(0.7, 12)
    expect(regression.fit(1.25)?.intercept).toBeCloseTo(7 - 0.7 * 2.5, 12)
  })

  test("reaches the certified values of NIST's Norris set", () => {
    const regression = new LeastSquares(1)
    for (const [y, x] of norris) regression.add([x], y)
    const { intercept = Number.NaN, slopes } = regression.fit() ?? {}
    expect(intercept).toBeCloseTo(-0.262323073774029, 10)
    expect(slopes?.[0]).toBeCloseTo(1.00211681802045, 12)
  })

  property.prop([fc.integer(), fc.constantFrom(0, 0.01, 0.5)])(
    'equals QR of the whole design, penalised or not',
    (seed, penalty) => {
      const normal = seededNormal(seed)
      const regression = new LeastSquares(3)
      const [design, targets]: [number[][], number[]] = [[], []]
      for (let at = 0; at < 50; at += 1) {
        const common = normal()
        // Far from zero and correlated, like logs of variances.
        const row = [-9 + common + 0.3 * normal(), -9 + common, -8 + 0.5 * common + 0.2 * normal()]
        const target = normal()
        regression.add(row, target)
        design.push([1, ...row])
        targets.push(target)
      }
      // The intercept is free of the penalty, so the rows of the penalty have 0 for it and lie about the means.
      const means = [1, 2, 3].map(
        (field) => design.reduce((sum, row) => sum + (row[field] ?? 0), 0) / design.length,
      )
      const centred = design.map((row) => [
        1,
        ...means.map((mean, field) => (row[field + 1] ?? 0) - mean),
      ])
      const ridge = Math.sqrt(penalty * 50)
      const penalties = [0, 1, 2].map((field) => [0, 0, 0, 0].with(field + 1, ridge))
      const [level = 0, ...expected] = solveByQr([...centred, ...penalties], [...targets, 0, 0, 0])
      const fit = regression.fit(penalty)
      for (const [field, slope] of expected.entries())
        expect(fit?.slopes[field]).toBeCloseTo(slope, 8)
      const intercept = means.reduce(
        (rest, mean, field) => rest - mean * (expected[field] ?? 0),
        level,
      )
      expect(fit?.intercept).toBeCloseTo(intercept, 7)
    },
  )

  property.prop([rows, value, fc.tuple(value, value, value)])(
    'finds the coefficients of what is exactly linear, or reports dependence',
    (xs, intercept, slopes) => {
      const regression = new LeastSquares(3)
      for (const row of xs)
        regression.add(
          row,
          row.reduce((sum, x, at) => sum + x * (slopes[at] ?? 0), intercept),
        )
      const fit = regression.fit()
      if (fit === null) return
      for (const row of xs) {
        const expected = row.reduce((sum, x, at) => sum + x * (slopes[at] ?? 0), intercept)
        const actual = row.reduce((sum, x, at) => sum + x * (fit.slopes[at] ?? 0), fit.intercept)
        expect(actual).toBeCloseTo(expected, 3)
      }
    },
  )

  test('of dependent regressors there is no fit, and with a penalty there is', () => {
    const normal = seededNormal(3)
    for (const dependent of [(x: number) => 2 * x - 7, () => 4]) {
      const regression = new LeastSquares(2)
      for (let at = 0; at < 100; at += 1) {
        const x = normal()
        regression.add([x, dependent(x)], x)
      }
      expect(regression.fit()).toBeNull()
      const fit = regression.fit(1e-3)
      expect(fit?.slopes[0]).toBeGreaterThan(0.1)
    }
  })

  test('of regressors that differ by a hundredth of their spread there is a fit', () => {
    const normal = seededNormal(4)
    const regression = new LeastSquares(2)
    for (let at = 0; at < 100; at += 1) {
      const [x, difference] = [normal(), 0.01 * normal()]
      regression.add([x, x + difference], difference)
    }
    expect(regression.fit()?.slopes[0]).toBeCloseTo(-1, 8)
    expect(regression.fit()?.slopes[1]).toBeCloseTo(1, 8)
  })

  test('of no more rows than coefficients, or of numbers that are not finite, there is no fit', () => {
    const regression = new LeastSquares(1)
    for (const x of [1, 2]) {
      regression.add([x], x)
      expect(regression.fit(1)).toBeNull()
    }
    regression.add([4], 3)
    expect(regression.fit()).not.toBeNull()
    regression.add([Number.NaN], 3)
    expect(regression.fit()).toBeNull()
    expect(() => regression.add([1, 2], 3)).toThrow('a value for each regressor')
    expect(regression.rows).toBe(4)
  })
})

/** y and x of https://www.itl.nist.gov/div898/strd/lls/data/Norris.shtml (public domain). */
const norris: readonly (readonly [number, number])[] = [
  [0.1, 0.2],
  [338.8, 337.4],
  [118.1, 118.2],
  [888.0, 884.6],
  [9.2, 10.1],
  [228.1, 226.5],
  [668.5, 666.3],
  [998.5, 996.3],
  [449.1, 448.6],
  [778.9, 777.0],
  [559.2, 558.2],
  [0.3, 0.4],
  [0.1, 0.6],
  [778.1, 775.5],
  [668.8, 666.9],
  [339.3, 338.0],
  [448.9, 447.5],
  [10.8, 11.6],
  [557.7, 556.0],
  [228.3, 228.1],
  [998.0, 995.8],
  [888.8, 887.6],
  [119.6, 120.2],
  [0.3, 0.3],
  [0.6, 0.3],
  [557.6, 556.8],
  [339.3, 339.1],
  [888.0, 887.2],
  [998.5, 999.0],
  [778.9, 779.0],
  [10.2, 11.1],
  [117.6, 118.3],
  [228.9, 229.2],
  [668.4, 669.1],
  [449.2, 448.9],
  [0.2, 0.5],
]
