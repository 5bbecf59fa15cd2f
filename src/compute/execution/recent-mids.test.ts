import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { RecentMids } from './recent-mids.ts'

const AGE_MS_MAX = 1_000
const steps = fc.array(fc.nat(400), { minLength: 1, maxLength: 100 })

describe('recent mids', () => {
  property.prop([steps, fc.integer({ min: -500, max: 2_000 })])(
    'the one before an instant is that of a search through all of the last 32',
    (stepsMs, afterMs) => {
      const mids = new RecentMids()
      const told: { timeMs: number; mid: number }[] = []
      let timeMs = 1_000_000
      for (const stepMs of stepsMs) {
        timeMs += stepMs
        told.push({ timeMs, mid: told.length })
        mids.add(timeMs, told.length - 1)
      }
      expect(mids.newestMs).toBe(timeMs)
      const atMs = timeMs + afterMs
      const last = told.slice(-32).findLast((one) => one.timeMs < atMs)
      const isYoung = last !== undefined && atMs - last.timeMs <= AGE_MS_MAX
      expect(mids.before(atMs, AGE_MS_MAX)).toBe(isYoung ? last.mid : Number.NaN)
    },
  )

  test('unknown before the first value and after clear', () => {
    const mids = new RecentMids()
    expect(mids.before(1_000, AGE_MS_MAX)).toBeNaN()
    mids.add(900, 5)
    expect(mids.before(1_000, AGE_MS_MAX)).toBe(5)
    mids.clear()
    expect(mids.before(1_000, AGE_MS_MAX)).toBeNaN()
    expect(mids.newestMs).toBe(Number.NEGATIVE_INFINITY)
  })
})
