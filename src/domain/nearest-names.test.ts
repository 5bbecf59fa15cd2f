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

  test('takes two exchanged letters for one slip', () => {
    expect(nearestNames('BCT', ['BCH', 'WCT', 'ACE', 'BTC'])[0]).toBe('BTC')
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
    ['BCT', 'BTC', 1],
    ['CA', 'ABC', 3],
  ])('%s to %s takes %i edits', (a, b, edits) => {
    expect(editDistance(a, b, 10)).toBe(edits)
  })

  test.prop([word, word])(
    'is symmetric, null for equal words alone, and within their lengths',
    (a, b) => {
      const edits = editDistance(a, b, 100)
      expect(edits).toBe(editDistance(b, a, 100))
      expect(edits === 0).toBe(a === b)
      expect(edits).toBeGreaterThanOrEqual(Math.abs(a.length - b.length))
      expect(edits).toBeLessThanOrEqual(Math.max(a.length, b.length))
    },
  )

  test.prop([word, fc.nat()])('an exchange of neighbours is one slip', (a, at) => {
    const i = at % Math.max(a.length - 1, 1)
    const exchanged =
      a.slice(0, i) +
      a
        .slice(i, i + 2)
        .split('')
        .reverse()
        .join('') +
      a.slice(i + 2)
    expect(editDistance(a, exchanged, 100)).toBe(a === exchanged ? 0 : 1)
  })
})
