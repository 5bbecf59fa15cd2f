import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import { TokenBucket } from './token-bucket.ts'

const START_MS = Date.UTC(2026, 0, 1)

describe('token bucket', () => {
  test.prop([
    fc.array(fc.record({ stepMs: fc.integer({ min: -500, max: 5_000 }), cost: fc.nat(9) })),
  ])('the wait that it names is enough and not too long', (steps) => {
    const bucket = new TokenBucket({ capacity: 10, perMinute: 60 }, START_MS)
    let nowMs = START_MS
    for (const { stepMs, cost } of steps) {
      nowMs += stepMs
      const waitMs = bucket.take(cost, nowMs)
      if (waitMs === 0) continue
      expect(waitMs).toBeLessThanOrEqual(10_000)
      nowMs += waitMs + 1
      expect(bucket.take(cost, nowMs)).toBe(0)
    }
  })

  test('takes what is there, in whole units', () => {
    const bucket = new TokenBucket({ capacity: 5, perMinute: 60 }, START_MS)
    expect(bucket.takeUpTo(3, START_MS)).toBe(3)
    expect(bucket.takeUpTo(3, START_MS)).toBe(2)
    expect(bucket.takeUpTo(3, START_MS + 1_500)).toBe(1)
    bucket.debit(2, START_MS + 1_500)
    expect(bucket.takeUpTo(3, START_MS + 1_500)).toBe(0)
  })

  test('reserves in order: who comes later waits longer', () => {
    const bucket = new TokenBucket({ capacity: 2, perMinute: 60 }, START_MS)
    const waits = Array.from({ length: 5 }, () => bucket.reserve(1, START_MS))
    expect(waits).toEqual([0, 0, 1_000, 2_000, 3_000])
    expect(bucket.reserve(1, START_MS + 10_000)).toBe(0)
  })
})
