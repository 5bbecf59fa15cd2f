import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import { roundPrice } from './precision.ts'
import {
  coarseBook,
  deepenedSide,
  impactPrice,
  liquidityFor,
  syntheticBook,
} from './synthetic-book.ts'

const anyBook = fc
  .record({
    price: fc.double({ min: 0.0005, max: 150_000, noNaN: true }),
    side: fc.constantFrom('B' as const, 'A' as const),
    sizeDecimals: fc.integer({ min: 0, max: 1 }),
    dayNotionalUsd: fc.double({ min: 2e4, max: 2e9, noNaN: true }),
    key: fc.integer(),
    atMs: fc.integer({ min: 1.7e12, max: 1.9e12 }),
  })
  .map(({ price, side, sizeDecimals, dayNotionalUsd, key, atMs }) => {
    const touch = { price: roundPrice(price, sizeDecimals), side }
    const liquidity = liquidityFor(dayNotionalUsd)
    const book = syntheticBook({ touch, liquidity, key, sizeDecimals, atMs, levels: 20 })
    return { touch, sizeDecimals, book }
  })

describe('a synthetic book', () => {
  test.prop([anyBook])('is never crossed, sorted, and has no empty level', ({ book }) => {
    expect(book.bids.length).toBeGreaterThan(0)
    expect(book.asks).toHaveLength(20)
    expect(book.bids[0]?.price).toBeLessThan(book.asks[0]?.price ?? 0)
    for (const [side, direction] of [
      [book.bids, -1],
      [book.asks, 1],
    ] as const) {
      for (const [i, level] of side.entries()) {
        expect(level.sizeBase).toBeGreaterThan(0)
        expect(level.price).toBeGreaterThan(0)
        expect(level.orders).toBeGreaterThan(0)
        const before = side[i - 1]
        if (before !== undefined)
          expect(direction * (level.price - before.price)).toBeGreaterThan(0)
      }
    }
  })

  test.prop([anyBook])('has only prices that the venue allows', ({ book, sizeDecimals }) => {
    for (const { price } of [...book.bids, ...book.asks]) {
      expect(roundPrice(price, sizeDecimals)).toBe(price)
    }
  })

  test.prop([anyBook])(
    'stands at the newest trade: a buy at the ask, a sale at the bid',
    (made) => {
      const { touch, book } = made
      const best = touch.side === 'B' ? book.asks[0] : book.bids[0]
      expect(best?.price).toBe(touch.price)
    },
  )

  test.prop([anyBook, fc.integer({ min: 2, max: 5 })])(
    'keeps its sizes and its order when it is made coarse',
    ({ book }, figures) => {
      const coarse = coarseBook(book, figures, 1, 20)
      const size = (side: typeof book.asks): number =>
        side.reduce((sum, { sizeBase }) => sum + sizeBase, 0)
      expect(size(coarse.asks)).toBeCloseTo(size(book.asks), 4)
      expect(coarse.bids[0]?.price).toBeLessThanOrEqual(book.bids[0]?.price ?? 0)
      expect(coarse.asks[0]?.price).toBeGreaterThanOrEqual(book.asks[0]?.price ?? 0)
    },
  )
})

describe('a coarse side made deeper', () => {
  const level = { price: 0, sizeBase: 10, orders: 2 }
  const options = { figures: 2, mantissa: 1, levels: 20, sizeDecimals: 1, key: 5 }

  test('keeps what it has, and goes on step by step, finer below a power of ten', () => {
    const side = [
      { ...level, price: 110 },
      { ...level, price: 100 },
    ]
    const bids = deepenedSide(side, { ...options, direction: -1 })
    expect(bids.slice(0, 2)).toEqual(side)
    expect(bids.slice(0, 5).map(({ price }) => price)).toEqual([110, 100, 99, 98, 97])
    expect(bids).toHaveLength(20)
    for (const { sizeBase, orders } of bids) {
      expect(sizeBase).toBeGreaterThan(0)
      expect(orders).toBeGreaterThan(0)
    }
  })

  test('is coarser above a power of ten', () => {
    const asks = deepenedSide([{ ...level, price: 98 }], { ...options, direction: 1 })
    expect(asks.slice(0, 5).map(({ price }) => price)).toEqual([98, 99, 100, 110, 120])
  })

  test('is empty where it was', () => {
    expect(deepenedSide([], { ...options, direction: 1 })).toEqual([])
  })
})

test('the impact price is the average of what the notional takes', () => {
  const levels = [
    { price: 100, sizeBase: 10, orders: 1 },
    { price: 110, sizeBase: 100, orders: 1 },
  ]
  // 1,000 USD at 100 and 1,100 USD at 110 buy 20 units.
  expect(impactPrice(levels, 2100)).toBeCloseTo(105, 10)
  expect(impactPrice(levels, 20_000)).toBeUndefined()
})
