import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import { weightedMedian } from './median.ts'

const weighted = (values: readonly number[], weights: readonly number[]) =>
  values.map((value, at) => ({ value, weight: weights[at] as number }))

describe('weighted median', () => {
  test.each([
    { values: [3, 1, 2], weights: [1, 1, 1], median: 2 },
    { values: [1, 2], weights: [1, 1], median: 1.5 },
    { values: [1, 2], weights: [1, 1.1], median: 2 },
    { values: [5, 1, 9], weights: [1, 3, 1], median: 1 },
    { values: [7, 7], weights: [0.2, 5], median: 7 },
  ])('of $values by $weights is $median', ({ values, weights, median }) => {
    expect(weightedMedian(weighted(values, weights))).toBe(median)
  })

  test('of seven sevenths against one whole lies between them', () => {
    const values = [...Array.from({ length: 7 }, () => 1), 2]
    const weights = [...Array.from({ length: 7 }, () => 1 / 7), 1]
    expect(weightedMedian(weighted(values, weights))).toBe(1.5)
  })

  test('of no values is NaN', () => {
    expect(weightedMedian([])).toBeNaN()
  })

  property.prop([
    fc.array(
      fc.record({
        value: fc.double({ min: 1, max: 1e5, noNaN: true }),
        weight: fc.integer({ min: 1, max: 20 }),
      }),
      { minLength: 1, maxLength: 9 },
    ),
  ])('of integer weights is the median of that many copies', (given) => {
    const copies = given
      .flatMap(({ value, weight }) => Array<number>(weight).fill(value))
      .toSorted((a, b) => a - b)
    const upper = copies[copies.length >> 1] as number
    const lower = copies[(copies.length - 1) >> 1] as number
    expect(weightedMedian(given)).toBe((lower + upper) / 2)
  })
})
