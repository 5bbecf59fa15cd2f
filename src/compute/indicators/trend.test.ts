import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import { emaStack, trendDirection, trendLabel } from './trend.ts'

describe('direction', () => {
  test.each([
    ['up', { price: 103, ema20: 102, ema50: 101 }, 1],
    ['up while the price dips under the fast average', { price: 101.5, ema20: 102, ema50: 101 }, 1],
    ['none once the price is under the slow one', { price: 100.5, ema20: 102, ema50: 101 }, 0],
    ['down', { price: 98, ema20: 99, ema50: 100 }, -1],
    ['none once the price is over the slow one', { price: 101, ema20: 99, ema50: 100 }, 0],
    ['none on the slow average itself', { price: 101, ema20: 102, ema50: 101 }, 0],
    [
      'none for a difference within rounding',
      { price: 100.00000000000003, ema20: 100.00000000000001, ema50: 100 },
      0,
    ],
  ])('%s', (_, at, direction) => {
    expect(trendDirection(at)).toBe(direction)
  })

  const level = fc.double({ min: 1e-3, max: 1e5, noNaN: true })
  test.prop([level, level, level])('is mirrored by a mirrored market', (price, ema20, ema50) => {
    const mirror = (value: number) => 2 * price - value
    const mirrored = { price, ema20: mirror(ema20), ema50: mirror(ema50) }
    expect(trendDirection(mirrored) + trendDirection({ price, ema20, ema50 })).toBe(0)
  })

  test('has a label', () => {
    expect(([1, -1, 0] as const).map(trendLabel)).toEqual(['bullish', 'bearish', 'neutral'])
  })
})

describe('stack', () => {
  test.each([
    ['bull_aligned', [103, 102, 101]],
    ['bear_aligned', [97, 98, 99]],
    ['mixed', [103, 101, 102]],
    ['mixed', [101, 102, 102]],
    ['flat', [100.1, 100.05, 100]],
    ['bull_aligned', [100.102, 100.05, 100]],
  ])('%s for EMAs at %j and a price of 100', (stack, [ema20 = 0, ema50 = 0, ema200 = 0]) => {
    expect(emaStack({ price: 100, ema20, ema50, ema200 })).toBe(stack)
  })
})
