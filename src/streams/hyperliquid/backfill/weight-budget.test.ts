import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import {
  candlesWeight,
  fundingsWeight,
  WEIGHT_PER_MINUTE_DEFAULT,
  WeightBudget,
} from './weight-budget.ts'

const START_MS = Date.UTC(2026, 0, 1)
const VENUE_LIMIT = 1_200

/** A greedy client: it always has something to ask, and its replies have this many bars. */
const replies = fc.array(
  fc.record({
    rows: fc.integer({ min: 0, max: 5_000 }),
    tookMs: fc.integer({ min: 0, max: 9_000 }),
  }),
  { minLength: 1, maxLength: 300 },
)

describe('weight budget', () => {
  test.prop([replies])('no minute ever exceeds the venue limit', (script) => {
    const budget = new WeightBudget(WEIGHT_PER_MINUTE_DEFAULT, START_MS)
    const spent: { readonly atMs: number; readonly weight: number }[] = []
    let nowMs = START_MS
    for (const { rows, tookMs } of script) {
      for (let waitMs = budget.take(20, nowMs); waitMs > 0; waitMs = budget.take(20, nowMs))
        nowMs += waitMs
      spent.push({ atMs: nowMs, weight: 20 })
      nowMs += tookMs
      const weight = candlesWeight('"t":'.repeat(rows))
      budget.debit(weight, nowMs)
      spent.push({ atMs: nowMs, weight })
    }
    for (const { atMs } of spent) {
      const minute = spent.filter((one) => one.atMs > atMs - 60_000 && one.atMs <= atMs)
      expect(minute.reduce((sum, { weight }) => sum + weight, 0)).toBeLessThanOrEqual(VENUE_LIMIT)
    }
  })

  test('a reply costs no more than the longest that the venue gives, whatever it holds', () => {
    expect(candlesWeight('"t":'.repeat(1_000_000))).toBe(83)
    expect(fundingsWeight('"time":'.repeat(1_000_000))).toBe(25)
  })

  test('spends its plan: a minute of waiting is worth a minute of weight', () => {
    const budget = new WeightBudget(WEIGHT_PER_MINUTE_DEFAULT, START_MS)
    let taken = 0
    for (let nowMs = START_MS; nowMs < START_MS + 10 * 60_000; nowMs += 100)
      while (budget.take(20, nowMs) === 0) taken += 20
    expect(taken).toBeGreaterThanOrEqual(10 * WEIGHT_PER_MINUTE_DEFAULT)
  })

  test.prop([fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })])(
    'after a 429 nothing is taken for 10 to 60 seconds',
    (chance) => {
      const budget = new WeightBudget(WEIGHT_PER_MINUTE_DEFAULT, START_MS)
      const pauseMs = budget.pause(START_MS, chance)
      expect(pauseMs).toBeGreaterThanOrEqual(10_000)
      expect(pauseMs).toBeLessThanOrEqual(60_000)
      expect(budget.take(20, START_MS + pauseMs - 1)).toBeGreaterThan(0)
      expect(budget.take(20, START_MS + pauseMs)).toBe(0)
    },
  )

  test.each([
    [59, 0],
    [60, 1],
    [1_000, 16],
    [5_000, 83],
  ])('a reply of %i candles costs %i more', (rows, weight) => {
    expect(candlesWeight('"t":'.repeat(rows))).toBe(weight)
  })
})
