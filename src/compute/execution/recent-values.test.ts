import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import { RecentValues } from './recent-values.ts'

const LENGTH = 7
const values = fc.array(fc.integer({ min: -50, max: 50 }), { maxLength: 40 })

describe('recent values', () => {
  property.prop([values])('have the median of the newest alone', (given) => {
    const recent = new RecentValues(LENGTH)
    for (const value of given) recent.push(value)
    const ascending = given.slice(-LENGTH).toSorted((one, other) => one - other)
    const middle = (ascending.length - 1) / 2
    const [lower, upper] = [ascending[Math.floor(middle)], ascending[Math.ceil(middle)]]
    const expected = lower === undefined || upper === undefined ? Number.NaN : (lower + upper) / 2
    expect(recent.median()).toBe(expected)
    expect(recent.count).toBe(ascending.length)
  })

  property.prop([values, values])(
    'go on after they were saved as if nothing was',
    (before, after) => {
      const [kept, saved] = [new RecentValues(LENGTH), new RecentValues(LENGTH)]
      for (const value of before) kept.push(value)
      saved.restore(kept.save())
      for (const value of after) {
        kept.push(value)
        saved.push(value)
      }
      expect(saved.save()).toEqual(kept.save())
      expect(saved.median()).toBe(kept.median())
    },
  )

  test.each([
    { share: 0.9, expected: 9 },
    { share: 0.91, expected: 10 },
    { share: 0, expected: 1 },
    { share: 1, expected: 10 },
  ])('$share of ten values do not exceed $expected', ({ share, expected }) => {
    const recent = new RecentValues(10)
    for (const value of [3, -7, 1, 10, -2, 9, 4, 8, -6, 5]) recent.push(value)
    expect(recent.quantile(share, Math.abs)).toBe(expected)
  })

  test('have a median of mapped values', () => {
    const recent = new RecentValues(LENGTH)
    for (const value of [-3, 1, 2]) recent.push(value)
    expect(recent.median(Math.abs)).toBe(2)
  })
})
