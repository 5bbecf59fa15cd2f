import { describe, expect, test } from 'vitest'
import { changePct, sparklinePath } from './sparkline-path.ts'

const box = { width: 90, height: 20 }

describe('sparkline', () => {
  test('reaches from edge to edge, the highest value on top', () => {
    expect(sparklinePath([10, 30, 20, 10], box)).toBe('M0 20L30 0L60 10L90 20')
  })

  test('has a gap where a value is unknown', () => {
    expect(sparklinePath([null, 10, null, 20], box)).toBe('M30 20M90 0')
  })

  test('of equal values lies in the middle', () => {
    expect(sparklinePath([5, 5], box)).toBe('M0 10L90 10')
  })

  test('is empty without a value', () => {
    expect(sparklinePath([null, null], box)).toBe('')
  })
})

test.each([
  [[100, null, 110], 10],
  [[null, 100, 50, null], -50],
  [[100, null], null],
  [[], null],
])('change of %j is %j percent', (values, pct) => {
  expect(changePct(values)).toEqual(pct === null ? null : expect.closeTo(pct, 10))
})
