import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  naivePercentile,
  naiveQuantile,
  naiveStatistics,
  naiveZScore,
} from '../../../test/golden/naive-statistics.ts'
import { fundedCoins, hasSharedFundings, sharedFundings } from '../testing/shared-fundings.ts'
import { percentileOf, quantileOf, statisticsOf, zScoreOf } from './series-statistics.ts'

const CUMULATED = join(
  import.meta.dirname,
  '../../../../shared/data/amberdata-funding-2024/realized_funding_cumulated_stables.json',
)

/** As the venue has them: many equal, some zero, of both signs. */
const rates = fc.array(
  fc.oneof(
    fc.constant(1.25e-5),
    fc.integer({ min: -90, max: 90 }).map((n) => n * 1e-6),
  ),
  {
    minLength: 1,
    maxLength: 60,
  },
)

describe('series statistics', () => {
  property.prop([rates])('equal their definitions', (values) => {
    expectEqualToNaive(values)
  })

  property.prop([rates, fc.integer({ min: -100, max: 100 }), fc.nat(50)])(
    'a percentile is within 0 and 100 and never falls while the value rises',
    (values, value, rise) => {
      const { ascending } = statisticsOf(Float64Array.from(values))
      const [lower, upper] = [value * 1e-6, (value + rise) * 1e-6]
      expect(percentileOf(ascending, lower)).toBeGreaterThanOrEqual(0)
      expect(percentileOf(ascending, upper)).toBeLessThanOrEqual(100)
      expect(percentileOf(ascending, lower)).toBeLessThanOrEqual(percentileOf(ascending, upper))
      expect(percentileOf(ascending, lower)).toBeCloseTo(naivePercentile(values, lower), 9)
    },
  )

  property.prop([rates])(
    'least, median and most are in order, and the mean is between',
    (values) => {
      const { min, median, max, mean } = statisticsOf(Float64Array.from(values))
      expect(min).toBeLessThanOrEqual(median)
      expect(median).toBeLessThanOrEqual(max)
      expect(mean).toBeGreaterThanOrEqual(min - 1e-18)
      expect(mean).toBeLessThanOrEqual(max + 1e-18)
    },
  )

  property.prop([rates, fc.double({ min: 0, max: 1, noNaN: true })])(
    'a quantile equals its definition, and is least, median and most at 0, a half and 1',
    (values, share) => {
      const { ascending, min, median, max } = statisticsOf(Float64Array.from(values))
      expect(quantileOf(ascending, share)).toBeCloseTo(naiveQuantile(values, share), 12)
      expect(quantileOf(ascending, 0)).toBe(min)
      expect(quantileOf(ascending, 0.5)).toBeCloseTo(median, 15)
      expect(quantileOf(ascending, 1)).toBe(max)
    },
  )

  test('of equal values: a deviation of exactly 0, no z-score, and the middle percentile', () => {
    const equal = statisticsOf(new Float64Array(720).fill(0.0000125))
    expect(equal.deviation).toBe(0)
    expect(zScoreOf(equal, 0.0000125)).toBeNaN()
    expect(zScoreOf(equal, 0.1)).toBeNaN()
    expect(percentileOf(equal.ascending, 0.0000125)).toBe(50)
  })

  test('of nothing: a count and a sum of 0, and nothing else', () => {
    const { count, sum, flips, ascending, ...others } = statisticsOf(new Float64Array())
    expect({ count, sum, flips, length: ascending.length }).toEqual({
      count: 0,
      sum: 0,
      flips: 0,
      length: 0,
    })
    for (const value of Object.values(others)) expect(value).toBeNaN()
  })

  test('zeros neither make nor hide a change of sign', () => {
    expect(statisticsOf(Float64Array.of(1, 0, 2, 0, -1, -0, 3)).flips).toBe(2)
  })

  test('leave the values as they were', () => {
    const values = Float64Array.of(3, 1, 2)
    statisticsOf(values)
    expect([...values]).toEqual([3, 1, 2])
  })

  test.runIf(hasSharedFundings).each(fundedCoins)(
    'of the recorded funding of %s, month by month (needs ../shared/data)',
    (coin) => {
      const recorded = sharedFundings(coin).map(({ rateHourly }) => rateHourly)
      expect(recorded.length).toBeGreaterThan(300)
      for (let from = 0; from + 24 <= recorded.length; from += 97)
        expectEqualToNaive(recorded.slice(from, from + 720))
    },
  )

  test.runIf(existsSync(CUMULATED))(
    "sums to what a data vendor cumulated of six exchanges' funding (needs ../shared/data)",
    () => {
      const rows = cumulatedRows()
      const symbols = new Set(rows.map(({ symbol }) => symbol))
      expect(symbols.size).toBe(10)
      for (const symbol of symbols) {
        const own = rows.filter((row) => row.symbol === symbol)
        // That exchange publishes an eight-hour rate every hour.
        const perRow = symbol.startsWith('deribit ') ? 8 : 1
        const values = Float64Array.from(own, ({ realizedFunding }) => realizedFunding / perRow)
        const cumulated = own.at(-1)?.accumulatedRealizedFunding
        expect(statisticsOf(values).sum, symbol).toBeCloseTo(cumulated ?? Number.NaN, 9)
      }
    },
  )
})

function expectEqualToNaive(values: readonly number[]): void {
  const { ascending, deviation, ...fast } = statisticsOf(Float64Array.from(values))
  const { deviation: slowDeviation, ...slow } = naiveStatistics(values)
  expect(fast).toEqual({
    ...slow,
    sum: expect.closeTo(slow.sum, 15),
    mean: expect.closeTo(slow.mean, 15),
    median: expect.closeTo(slow.median, 15),
    positivePct: expect.closeTo(slow.positivePct, 12),
  })
  expect(deviation).toBeCloseTo(slowDeviation, 15)
  const value = values[values.length >> 1] as number
  expect(percentileOf(ascending, value)).toBeCloseTo(naivePercentile(values, value), 9)
  const slowZ = naiveZScore(values, value)
  const z = zScoreOf({ ...fast, deviation }, value)
  if (slowZ === null) expect(z).toBeNaN()
  else expect(z).toBeCloseTo(slowZ, 6)
}

type CumulatedRow = {
  /** Exchange and instrument. */
  readonly symbol: string
  readonly timestamp: number
  readonly realizedFunding: number
  readonly accumulatedRealizedFunding: number
}

/** Ascending. */
function cumulatedRows(): CumulatedRow[] {
  const { payload } = JSON.parse(readFileSync(CUMULATED, 'utf8')) as {
    payload: { data: CumulatedRow[] }
  }
  return payload.data.sort((one, other) => one.timestamp - other.timestamp)
}
