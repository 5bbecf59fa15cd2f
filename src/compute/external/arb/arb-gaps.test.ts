import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import { weightedMedian } from './arb-gaps.ts'

const votes = fc.array(
  fc.record({
    value: fc.double({ min: 1, max: 1e5, noNaN: true }),
    weight: fc.integer({ min: 1, max: 20 }),
  }),
  { minLength: 1, maxLength: 9 },
)

describe('the weighted median', () => {
  property.prop([votes])('is the plain one of every value told as often as it weighs', (given) => {
    const spelled = given
      .flatMap(({ value, weight }) => Array<number>(weight).fill(value))
      .toSorted((one, other) => one - other)
    const half = spelled.length / 2
    const plain = Number.isInteger(half)
      ? ((spelled[half - 1] as number) + (spelled[half] as number)) / 2
      : (spelled[Math.floor(half)] as number)
    expect(weightedMedian(given)).toBe(plain)
  })

  test('of nothing is unknown', () => {
    expect(weightedMedian([])).toBeNaN()
  })
})
