import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import * as simulated from '../simulator/market/funding.ts'
import { impliedRateHourly } from './funding-rate.ts'

describe('implied rate', () => {
  test.each([
    // Within 0.05 % of the interest the premium is clamped away: the floor.
    [0, 0.0000125],
    [0.0006, 0.0000125],
    [-0.0004, 0.0000125],
    // Beyond it, an eighth of what is left: 0.002 - 0.0005, and -0.002 + 0.0005.
    [0.002, 0.0001875],
    [-0.002, -0.0001875],
    // 4 % an hour is the most.
    [1, 0.04],
    [-1, -0.04],
  ])('of a premium of %d is %d', (premium, rate) => {
    expect(impliedRateHourly(premium)).toBeCloseTo(rate, 15)
  })

  property.prop([fc.double({ min: -2, max: 2, noNaN: true })])(
    'is that of the simulated venue',
    (premium) => {
      expect(impliedRateHourly(premium)).toBe(simulated.hourlyFundingRate(premium))
    },
  )
})
