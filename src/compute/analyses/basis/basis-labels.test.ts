import { expect, test } from 'vitest'
import { basisDirection, basisRegime, basisSignal, significantBasis } from './basis-labels.ts'

const noMean = { meanBps: Number.NaN, bandBps: Number.NaN, n: 0, effectiveN: 0 }

function significant(basisBps: number, totalBps: number) {
  const band = { confidenceBps: totalBps, resolutionBps: 0, ageBps: 0, totalBps }
  return significantBasis({ basisBps, band }, noMean)
}

test('labels are those of the printed numbers', () => {
  expect(significant(3.004, 3.001), '3.00 is not above 3.00').toBeNull()
  expect(significant(3.006, 3.001)).toBe(3.006)
  expect(basisDirection(5.004)).toBe('aligned')
  expect(basisDirection(5.006)).toBe('venue_premium')
  expect(basisSignal(9.994)).toBe('neutral')
  expect(basisSignal(9.996)).toBe('mildly_bullish')
  expect(basisSignal(50.004)).toBe('mildly_bullish')
  expect(basisRegime(50.004, 0)).toBe('normal')
  expect(basisRegime(20, 2)).toBe('normal')
  expect(basisRegime(20, 2.01)).toBe('stretched')
})
