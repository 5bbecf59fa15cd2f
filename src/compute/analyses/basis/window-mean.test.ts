import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import { MeasureLog } from '../../market/measure-log.ts'
import { studentQuantile95 } from '../../statistics/student-quantile.ts'
import { windowMeanOf } from './window-mean.ts'

const MINUTE_MS = 60_000
const NOW_MS = Date.UTC(2026, 0, 1)
const SERIES = 'basis/BTC'

describe('mean of the last hour', () => {
  test('of alternating values by hand: 60 independent readings', () => {
    const { meanBps, n, effectiveN, bandBps } = meanOf(hour((at) => (at % 2 === 0 ? 1 : 3)))
    expect([meanBps, n, effectiveN]).toEqual([2, 60, 60])
    // Each value is 1 from the mean: a sample deviation of sqrt(60 / 59).
    const expectedBps = (studentQuantile95(59) * Math.sqrt(60 / 59)) / Math.sqrt(60)
    expect(bandBps).toBeCloseTo(expectedBps, 12)
  })

  test('counts repeated publications once', () => {
    expect(
      meanOf(
        hour((at) => at % 2),
        7,
      ).effectiveN,
    ).toBe(7)
  })

  test('of a slow wave has fewer effective readings than minutes', () => {
    const { effectiveN } = meanOf(hour((at) => Math.sin(at / 10)))
    expect(effectiveN).toBeGreaterThan(0)
    expect(effectiveN).toBeLessThan(5)
  })

  test.each([
    { what: 'without values', values: [], n: 0 },
    { what: 'of 29 values', values: hour((at) => at % 2).slice(0, 29), n: 29 },
    { what: 'of four publications', values: hour((at) => at % 2), n: 60, publications: 4 },
  ])('$what has no band', ({ values, n, publications }) => {
    const mean = meanOf(values, publications)
    expect(mean.n).toBe(n)
    expect(mean.bandBps).toBeNaN()
  })

  test('leaves out minutes that are older than an hour', () => {
    const log = new MeasureLog()
    log.record(SERIES, NOW_MS - 60 * MINUTE_MS, 1_000)
    log.record(SERIES, NOW_MS - 59 * MINUTE_MS, 2)
    expect(windowMeanOf(log, SERIES, 60, NOW_MS)).toMatchObject({ n: 1, meanBps: 2 })
  })

  property.prop([
    fc.array(fc.double({ min: -50, max: 50, noNaN: true }), { minLength: 30, maxLength: 60 }),
    fc.double({ min: -100, max: 100, noNaN: true }),
  ])('moves with its values, and its band does not', (values, shiftBps) => {
    const at = meanOf(values)
    const shifted = meanOf(values.map((value) => value + shiftBps))
    expect(shifted.meanBps).toBeCloseTo(at.meanBps + shiftBps, 3)
    expect(at.effectiveN).toBeLessThanOrEqual(values.length)
    if (!Number.isNaN(at.bandBps)) expect(at.bandBps).toBeGreaterThanOrEqual(0)
  })
})

function hour(valueAt: (minute: number) => number): readonly number[] {
  return Array.from({ length: 60 }, (_, at) => valueAt(at))
}

/** @param values one a minute, the last one now */
function meanOf(values: readonly number[], publications = 60) {
  const log = new MeasureLog()
  for (const [at, value] of values.entries())
    log.record(SERIES, NOW_MS - (values.length - 1 - at) * MINUTE_MS, value)
  return windowMeanOf(log, SERIES, publications, NOW_MS)
}
