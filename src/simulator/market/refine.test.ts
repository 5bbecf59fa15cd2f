import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import type { LotBar } from './lot-bar.ts'
import { flatBar, MINUTE_MS, mergeBars, tradesAtLeast } from './lot-bar.ts'
import { roundPrice } from './precision.ts'
import { minutesOf, tradesOf } from './refine.ts'

const SIZE_DECIMALS = 2
const anyBar = fc
  .record({
    prices: fc.array(fc.double({ min: 90, max: 110, noNaN: true }), {
      minLength: 4,
      maxLength: 4,
    }),
    moreTrades: fc.integer({ min: 0, max: 400 }),
    moreLots: fc.integer({ min: 0, max: 100_000 }),
  })
  .map(({ prices, moreTrades, moreLots }): LotBar => {
    const [open = 0, close = 0, a = 0, b = 0] = prices.map((price) =>
      roundPrice(price, SIZE_DECIMALS),
    )
    const shape = {
      open,
      close,
      high: Math.max(open, close, a, b),
      low: Math.min(open, close, a, b),
    }
    const trades = tradesAtLeast(shape) + moreTrades
    return { ...shape, trades, lots: trades + moreLots }
  })
const anyKey = fc.integer({ min: 0, max: 0xffffffff })

/** The bar that a list of trades makes, counted in the plainest way. */
function barOf(trades: readonly { price: number; sizeBase: number }[]): LotBar {
  const prices = trades.map(({ price }) => price)
  return {
    open: prices[0] ?? Number.NaN,
    high: Math.max(...prices),
    low: Math.min(...prices),
    close: prices.at(-1) ?? Number.NaN,
    lots: trades.reduce((sum, { sizeBase }) => sum + Math.round(sizeBase * 10 ** SIZE_DECIMALS), 0),
    trades: trades.length,
  }
}

describe('refining a bar', () => {
  test.prop([anyBar, anyKey])('its minutes merge back into it', (bar, key) => {
    const minutes = minutesOf(bar, key, SIZE_DECIMALS)
    expect(minutes).toHaveLength(15)
    expect(mergeBars(minutes)).toEqual(bar)
  })

  test.prop([anyBar, anyKey])('every minute can be made of its trades', (bar, key) => {
    for (const minute of minutesOf(bar, key, SIZE_DECIMALS)) {
      if (minute.trades === 0) {
        expect(minute).toEqual(flatBar(minute.close))
      } else {
        expect(minute.trades).toBeGreaterThanOrEqual(tradesAtLeast(minute))
        expect(minute.lots).toBeGreaterThanOrEqual(minute.trades)
      }
    }
  })

  test.prop([anyBar, anyKey])('its trades make exactly the bar', (bar, key) => {
    const trades = tradesOf(bar, 7 * MINUTE_MS, key, SIZE_DECIMALS)
    expect(barOf(trades)).toEqual(bar)
  })

  test.prop([anyBar, anyKey])(
    'its trades are in order, inside the minute, none empty',
    (bar, key) => {
      const trades = tradesOf(bar, 7 * MINUTE_MS, key, SIZE_DECIMALS)
      for (const [i, trade] of trades.entries()) {
        expect(trade.timeMs).toBeGreaterThanOrEqual(trades[i - 1]?.timeMs ?? 7 * MINUTE_MS)
        expect(trade.timeMs).toBeLessThan(8 * MINUTE_MS)
        expect(trade.sizeBase).toBeGreaterThan(0)
        expect(Number.isSafeInteger(trade.id)).toBe(true)
      }
    },
  )

  test.prop([anyBar, anyKey])('an uptick is a buy and a downtick a sale', (bar, key) => {
    const trades = tradesOf(bar, 0, key, SIZE_DECIMALS)
    for (const [i, { price, side }] of trades.entries()) {
      const before = trades[i - 1]
      if (before !== undefined && price !== before.price) {
        expect(side).toBe(price > before.price ? 'B' : 'A')
      }
    }
  })

  test('a quarter without trades has a constant price', () => {
    expect(minutesOf(flatBar(5), 1, SIZE_DECIMALS)).toEqual(Array(15).fill(flatBar(5)))
    expect(tradesOf(flatBar(5), 0, 1, SIZE_DECIMALS)).toEqual([])
  })
})
