import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import type { ProductQuote } from './exchange-frame.ts'
import type { Product } from './products.ts'
import { QuoteBook } from './quote-book.ts'

const NOW_MS = Date.UTC(2026, 4, 30, 12)
const BTC: Product = { product: 'BTCUSDT', asset: 'BTC', quote: 'USDT', scale: 1 }
const SATS: Product = { product: '1000SATSUSDT', asset: 'SATS', quote: 'USDT', scale: 1_000 }

function quote(mid: number, changes: Partial<ProductQuote> = {}): ProductQuote {
  const prices = { bid: mid * 0.9999, ask: mid * 1.0001 }
  return { product: BTC.product, ...prices, bidSize: 2, askSize: 3, timeMs: NOW_MS, ...changes }
}

describe('drained quotes', () => {
  test('have prices and sizes per unit of the asset', () => {
    const book = new QuoteBook('binance')
    const scaled = {
      product: SATS.product,
      bid: 0.00025,
      ask: 0.000251,
      bidSize: 4e6,
      askSize: 8e6,
    }
    expect(book.add({ ...scaled, timeMs: null }, SATS, NOW_MS)).toBeNull()
    expect(book.drain()).toEqual([
      {
        kind: 'exchange-quote',
        exchange: 'binance',
        asset: 'SATS',
        quote: 'USDT',
        bid: 0.00025 / 1_000,
        ask: 0.000251 / 1_000,
        bidSizeBase: 4e9,
        askSizeBase: 8e9,
        timeExchangeMs: NOW_MS,
        timeReceivedMs: NOW_MS,
      },
    ])
  })

  test('are the newest per product, once', () => {
    const book = new QuoteBook('okx')
    for (const mid of [100, 101, 102]) book.add(quote(mid), BTC, NOW_MS)
    expect(book.drain().map(({ bid }) => bid)).toEqual([102 * 0.9999])
    expect(book.drain()).toEqual([])
  })

  test('include a repeated quote with its new time', () => {
    const book = new QuoteBook('bybit')
    book.add(quote(100), BTC, NOW_MS)
    const [first] = book.drain()
    book.add(quote(100, { timeMs: NOW_MS + 3_000 }), BTC, NOW_MS + 3_010)
    expect(book.drain()).toEqual([
      { ...first, timeExchangeMs: NOW_MS + 3_000, timeReceivedMs: NOW_MS + 3_010 },
    ])
  })
})

describe('refused quotes', () => {
  test.each([
    ['crossed', { bid: 101, ask: 100 }],
    ['crossed', { bid: 100, ask: 100 }],
    ['wide_spread', { bid: 100, ask: 102.03 }],
    ['ahead_of_time', { timeMs: NOW_MS + 10_001 }],
  ])('%s', (refusal, changes) => {
    const book = new QuoteBook('okx')
    expect(book.add(quote(100, changes), BTC, NOW_MS)).toBe(refusal)
    expect(book.drain()).toEqual([])
  })

  test('quotes at the bounds are accepted', () => {
    const book = new QuoteBook('okx')
    expect(book.add(quote(100, { bid: 99, ask: 100.99 }), BTC, NOW_MS)).toBeNull()
    expect(book.add(quote(100, { timeMs: NOW_MS + 10_000 }), BTC, NOW_MS)).toBeNull()
  })
})

describe('a jump', () => {
  test('of a single quote is refused; the following quote is accepted', () => {
    const book = new QuoteBook('kraken')
    expect(book.add(quote(100), BTC, NOW_MS)).toBeNull()
    expect(book.add(quote(1_000), BTC, NOW_MS + 100)).toBe('jump')
    expect(book.add(quote(101), BTC, NOW_MS + 5_000)).toBeNull()
    expect(book.add(quote(1_000), BTC, NOW_MS + 5_100), 'the confirmation starts again').toBe(
      'jump',
    )
  })

  test('is accepted after the new level was quoted for two seconds', () => {
    const book = new QuoteBook('kraken')
    book.add(quote(100), BTC, NOW_MS)
    const results = [1_000, 1_500, 2_000, 2_999, 3_000].map((afterMs) =>
      book.add(quote(60 + afterMs / 10_000), BTC, NOW_MS + afterMs),
    )
    expect(results).toEqual(['jump', 'jump', 'jump', 'jump', null])
  })

  test('between changing levels is never accepted', () => {
    const book = new QuoteBook('kraken')
    book.add(quote(100), BTC, NOW_MS)
    for (let second = 1; second < 60; second += 1)
      expect(book.add(quote(second % 2 === 0 ? 200 : 400), BTC, NOW_MS + second * 1_000)).toBe(
        'jump',
      )
  })

  test('is not judged by a level of ten minutes ago', () => {
    const book = new QuoteBook('kraken')
    book.add(quote(100), BTC, NOW_MS)
    expect(book.add(quote(300), BTC, NOW_MS + 600_000)).toBeNull()
  })

  test.prop([
    fc.array(fc.double({ min: 1e-6, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 50 }),
  ])('never lets two quotes of one instant differ by more than 0.2', (mids) => {
    const book = new QuoteBook('kraken')
    const accepted = mids.filter((mid) => book.add(quote(mid), BTC, NOW_MS) === null)
    for (const [index, mid] of accepted.entries())
      expect(Math.abs(Math.log(mid / (accepted[index - 1] ?? mid)))).toBeLessThanOrEqual(0.2 + 1e-9)
  })
})
