import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import { editDistance, nearestNames } from './nearest-names.ts'

const word = fc.string({ minLength: 0, maxLength: 6, unit: fc.constantFrom('A', 'B', 'C') })

describe('nearestNames', () => {
  test('suggests the nearest first, in any case, and at most three', () => {
    expect(nearestNames('btcc', ['ETH', 'BTC', 'BCH', 'kBTCC', 'LTC'])).toEqual([
      'BTC',
      'kBTCC',
      'BCH',
    ])
  })

  test('suggests parameters alike', () => {
    expect(nearestNames('Timeframe', ['timeframes', 'view', 'fields'])).toEqual(['timeframes'])
  })

  test('suggests nothing for a ticker that is near to nothing', () => {
    expect(nearestNames('ZZZZZZ', ['BTC', 'ETH'])).toEqual([])
  })

  test('does not take every short ticker for every other', () => {
    expect(nearestNames('Q', ['S', 'W'])).toEqual([])
  })
})

describe('editDistance', () => {
  test.each([
    ['KITTEN', 'SITTING', 3],
    ['', 'ABC', 3],
    ['BTC', 'BTC', 0],
    ['FLAW', 'LAWN', 2],
  ])('%s to %s takes %i edits', (a, b, edits) => {
    expect(editDistance(a, b, 10)).toBe(edits)
  })

  test.prop([word, word, word])('is a metric', (a, b, c) => {
    const between = (from: string, to: string): number => editDistance(from, to, 100)
    expect(between(a, b)).toBe(between(b, a))
    expect(between(a, b) === 0).toBe(a === b)
    expect(between(a, c)).toBeLessThanOrEqual(between(a, b) + between(b, c))
  })
})
