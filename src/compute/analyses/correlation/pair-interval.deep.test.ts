import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { naiveInterval } from '../../../../test/golden/naive-correlation.ts'
import { pairInterval } from './pair-interval.ts'
import { PairDraws, pairModels, trueCorrelation } from './testing/dependent-pairs.ts'
import { logReturn } from './testing/returns.ts'

/** Of each cell: a coverage that is counted in them has a standard error of 0.7 points. */
const DRAWS = 1_000

/** Those that differ most; all of them, with more draws, are in `bench/correlation-interval.ts`. */
const models = ['independent, normal', 'GARCH each, normal', 'GARCH common, t5']

describe('interval of a correlation', () => {
  test.each(
    models.map(modelOf).flatMap((model) =>
      [
        { ofInnovations: 0, n: 168 },
        { ofInnovations: 0.8, n: 360 },
        { ofInnovations: 0.95, n: 168 },
      ].map((cell) => ({ ...cell, model, name: model.name })),
    ),
  )(
    '$name, correlation $ofInnovations, $n returns: covers the true one in 93 to 97 % of draws',
    ({ model, ofInnovations, n }) => {
      const truth = trueCorrelation(model, ofInnovations)
      const draws = new PairDraws(model, ofInnovations, 35)
      let covered = 0
      for (let draw = 0; draw < DRAWS; draw += 1) {
        const { xs, ys } = draws.next(n)
        const { low, high } = pairInterval(xs, ys, correlationOf(xs, ys)) ?? empty
        if (low <= truth && truth <= high) covered += 1
      }
      expect((100 * covered) / DRAWS).toBeGreaterThanOrEqual(93)
      expect((100 * covered) / DRAWS).toBeLessThanOrEqual(97)
    },
  )

  test('of clustered, heavy-tailed returns it is wider than that of independent normal ones', () => {
    const [independent, clustered] = ['independent, normal', 'GARCH common, t5'].map((name) => {
      const draws = new PairDraws(modelOf(name), 0.8, 7)
      const widths = Array.from({ length: 200 }, () => {
        const { xs, ys } = draws.next(720)
        const { low, high } = pairInterval(xs, ys, correlationOf(xs, ys)) ?? empty
        return Math.atanh(high) - Math.atanh(low)
      })
      return widths.toSorted((one, other) => one - other)[100] as number
    }) as [number, number]
    // Fisher's own, 2 x 1.96 / sqrt(n - 3), and Student's t with 12 degrees of freedom in place of 1.96.
    expect(independent / ((2 * 1.96) / Math.sqrt(717))).toBeCloseTo(1.1, 1)
    expect(clustered / independent).toBeGreaterThan(1.3)
  })

  property.prop([fc.array(fc.tuple(logReturn, logReturn), { minLength: 24, maxLength: 300 })])(
    'equals that of the naive twin, and holds r',
    (pairs) => {
      const xs = Float64Array.from(pairs, ([x]) => x)
      const ys = Float64Array.from(pairs, ([, y]) => y)
      const r = correlationOf(xs, ys)
      fc.pre(Math.abs(r) < 0.999_999)
      const { stderr, low, high } = pairInterval(xs, ys, r) ?? empty
      const exact = naiveInterval([...xs], [...ys], r)
      expect(low).toBeLessThanOrEqual(r)
      expect(high).toBeGreaterThanOrEqual(r)
      // Hill's quantile is exact to 0.05 %.
      expect(Math.abs(Math.atanh(low) - exact.zLow)).toBeLessThan(1e-3 * exact.reach)
      expect(Math.abs(Math.atanh(high) - exact.zHigh)).toBeLessThan(1e-3 * exact.reach)
      expect(stderr).toBeCloseTo(exact.stderr, 9)
    },
  )

  test('mirrors with the sign of one series', () => {
    const { xs, ys } = new PairDraws(modelOf('GARCH each, t6'), 0.5, 3).next(200)
    const r = correlationOf(xs, ys)
    const straight = pairInterval(xs, ys, r) ?? empty
    const mirrored =
      pairInterval(
        xs,
        ys.map((y) => -y),
        -r,
      ) ?? empty
    expect(mirrored.low).toBeCloseTo(-straight.high, 12)
    expect(mirrored.high).toBeCloseTo(-straight.low, 12)
  })

  test.each([1, -1])('a perfect correlation of %i has no width', (r) => {
    const xs = Float64Array.from([1, 3, 2, 5])
    const interval = pairInterval(
      xs,
      xs.map((x) => r * x),
      r,
    )
    expect(interval).toEqual({ stderr: 0, low: r, high: r })
  })

  test('three observations give no interval', () => {
    const three = Float64Array.from([1, 3, 2])
    expect(pairInterval(three, Float64Array.from([2, 1, 3]), -0.5)).toBeNull()
  })
})

const empty = { stderr: Number.NaN, low: Number.NaN, high: Number.NaN }

function modelOf(name: string) {
  const model = pairModels.find((each) => each.name === name)
  if (model === undefined) throw new Error(`no model is called ${name}`)
  return model
}

function correlationOf(xs: Float64Array, ys: Float64Array): number {
  const [meanX, meanY] = [meanOf(xs), meanOf(ys)]
  let [products, squaresX, squaresY] = [0, 0, 0]
  for (let at = 0; at < xs.length; at += 1) {
    const [x, y] = [(xs[at] as number) - meanX, (ys[at] as number) - meanY]
    products += x * y
    squaresX += x * x
    squaresY += y * y
  }
  return products / Math.sqrt(squaresX * squaresY)
}

function meanOf(values: Float64Array): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}
