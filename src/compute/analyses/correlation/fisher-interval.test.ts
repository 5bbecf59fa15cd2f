import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fisherInterval, standardError } from './fisher-interval.ts'

describe('interval of a correlation', () => {
  // The worked example of the contract.
  test('r = 0.812 of 719 returns lies within 0.786 and 0.836 with 95 %', () => {
    const interval = fisherInterval(0.812, 719)
    expect(interval?.low).toBeCloseTo(0.786, 3)
    expect(interval?.high).toBeCloseTo(0.836, 2)
    expect(standardError(0.812, 719)).toBeCloseTo(0.0127, 4)
  })

  test('three observations have none', () => {
    expect(fisherInterval(0.5, 3)).toBeNull()
    expect(fisherInterval(0.5, 2)).toBeNull()
    expect(standardError(0.5, 1)).toBeNull()
    expect(standardError(0.5, 2)).toBe(0.75)
  })

  test.each([1, -1])('a perfect %i is certain', (r) => {
    expect(fisherInterval(r, 10)).toEqual({ low: r, high: r })
    expect(standardError(r, 10)).toBe(0)
  })

  property.prop([
    fc.double({ min: -0.9999, max: 0.9999, noNaN: true }),
    fc.integer({ min: 4, max: 5000 }),
  ])('holds r, stays within -1 and 1, and mirrors', (r, n) => {
    const interval = fisherInterval(r, n)
    const mirrored = fisherInterval(-r, n)
    if (interval === null || mirrored === null) throw new Error('four observations have one')
    expect(interval.low).toBeLessThan(r)
    expect(interval.high).toBeGreaterThan(r)
    expect(interval.low).toBeGreaterThanOrEqual(-1)
    expect(interval.high).toBeLessThanOrEqual(1)
    expect(mirrored.low).toBeCloseTo(-interval.high, 12)
  })

  property.prop([
    fc.double({ min: -0.99, max: 0.99, noNaN: true }),
    fc.integer({ min: 4, max: 5000 }),
  ])('narrows with more observations', (r, n) => {
    const few = fisherInterval(r, n)
    const more = fisherInterval(r, n + 1)
    expect((more?.high ?? 0) - (more?.low ?? 0)).toBeLessThan((few?.high ?? 0) - (few?.low ?? 0))
  })
})
