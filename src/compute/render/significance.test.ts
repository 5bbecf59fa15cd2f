import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bps, orNull, price, rate, score } from './significance.ts'

const finite = fc.double({ noNaN: true, noDefaultInfinity: true })

describe('significance', () => {
  property.prop([finite])('a price keeps eight significant digits at any magnitude', (value) => {
    expect(Math.abs(price(value) - value)).toBeLessThanOrEqual(Math.abs(value) * 5.1e-8)
  })

  property.prop([fc.double({ min: -1e9, max: 1e9, noNaN: true })])(
    'rounding to decimals moves a value by at most half a unit',
    (value) => {
      expect(Math.abs(bps(value) - value)).toBeLessThanOrEqual(0.005 + 1e-6)
      expect(Math.abs(score(value) - value)).toBeLessThanOrEqual(0.0005 + 1e-6)
    },
  )

  property.prop([finite])('a finite number stays finite', (value) => {
    for (const round of [price, bps, rate, score]) expect(round(value)).toSatisfy(Number.isFinite)
  })

  property.prop([finite])('a value and its negative show the same digits', (value) => {
    for (const round of [price, bps, rate, score]) expect(round(-value) + round(value)).toBe(0)
  })

  test('the smallest funding rate of the venue survives', () => {
    expect(rate(0.0000125)).toBe(0.0000125)
  })

  test('unknown is null, whether it came as null or as NaN', () => {
    expect(orNull(null, price)).toBeNull()
    expect(orNull(Number.NaN, price)).toBeNull()
    expect(orNull(0, price)).toBe(0)
  })
})
