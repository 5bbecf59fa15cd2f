import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import { decimalText, priceDecimals, roundPrice } from './precision.ts'

const prices = fc.double({ min: 0.001, max: 200_000, noNaN: true })
const sizeDecimals = fc.integer({ min: 0, max: 5 })

describe('venue precision', () => {
  test.each([
    [77562, 5, '77562.0'],
    [2123.7, 4, '2123.7'],
    [0.003632, 0, '0.003632'],
    [110_427, 5, '110427.0'],
    [0.0000125, 0, '0.000013'],
  ])('writes %f with size decimals %i as %s', (price, decimals, text) => {
    expect(decimalText(roundPrice(price, decimals), 6 - decimals)).toBe(text)
  })

  test('writes fractions without exponent and with one decimal at least', () => {
    expect(decimalText(0.0000125, 10)).toBe('0.0000125')
    expect(decimalText(-0.0000015186, 10)).toBe('-0.0000015186')
    expect(decimalText(0, 10)).toBe('0.0')
    expect(decimalText(1000, 0)).toBe('1000.0')
  })

  test.prop([prices, sizeDecimals])(
    'a rounded price has five significant figures and 6 - szDecimals decimals at most',
    (price, decimals) => {
      const text = decimalText(roundPrice(price, decimals), 6 - decimals).replace(/\.0$/, '')
      const [whole = '', fraction = ''] = text.split('.')
      expect(fraction.length).toBeLessThanOrEqual(6 - decimals)
      const figures = (whole + fraction).replace(/^0+/, '')
      if (fraction !== '') expect(figures.length, text).toBeLessThanOrEqual(5)
    },
  )

  test.prop([prices, prices, sizeDecimals])(
    'rounding keeps the order of prices',
    (a, b, decimals) => {
      const [low, high] = [Math.min(a, b), Math.max(a, b)]
      expect(roundPrice(low, decimals)).toBeLessThanOrEqual(roundPrice(high, decimals))
    },
  )

  test.prop([prices, sizeDecimals])(
    'rounding moves a price by half a tick at most',
    (price, decimals) => {
      const tick = 10 ** -priceDecimals(price, decimals)
      expect(Math.abs(roundPrice(price, decimals) - price)).toBeLessThanOrEqual(tick / 2 + 1e-9)
    },
  )
})
