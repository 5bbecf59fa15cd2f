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

describe('what is told', () => {
  test('is the price of one unit of the asset, and how many units', () => {
    const book = new QuoteBook('binance')
    const scaled = {
      product: SATS.product,
      bid: 0.00025,
      ask: 0.000251,
      bidSize: 4e6,
      askSize: 8e6,
    }
    expect(book.take({ ...scaled, timeMs: null }, SATS, NOW_MS)).toBeNull()
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

  test('is the last of what was heard, once', () => {
    const book = new QuoteBook('okx')
    for (const mid of [100, 101, 102]) book.take(quote(mid), BTC, NOW_MS)
    expect(book.drain().map(({ bid }) => bid)).toEqual([102 * 0.9999])
    expect(book.drain()).toEqual([])
  })

  test('is told again when the exchange says it again', () => {
    const book = new QuoteBook('bybit')
    book.take(quote(100), BTC, NOW_MS)
    const [first] = book.drain()
    book.take(quote(100, { timeMs: NOW_MS + 3_000 }), BTC, NOW_MS + 3_010)
    expect(book.drain()).toEqual([
      { ...first, timeExchangeMs: NOW_MS + 3_000, timeReceivedMs: NOW_MS + 3_010 },
    ])
  })
})

describe('what is refused', () => {
  test.each([
    ['crossed', { bid: 101, ask: 100 }],
    ['crossed', { bid: 100, ask: 100 }],
    ['wide_spread', { bid: 100, ask: 102.03 }],
    ['ahead_of_time', { timeMs: NOW_MS + 10_001 }],
  ])('%s', (refusal, changes) => {
    const book = new QuoteBook('okx')
    expect(book.take(quote(100, changes), BTC, NOW_MS)).toBe(refusal)
    expect(book.drain()).toEqual([])
  })

  test('not yet at the bounds', () => {
    const book = new QuoteBook('okx')
    expect(book.take(quote(100, { bid: 99, ask: 100.99 }), BTC, NOW_MS)).toBeNull()
    expect(book.take(quote(100, { timeMs: NOW_MS + 10_000 }), BTC, NOW_MS)).toBeNull()
  })
})

describe('a jump', () => {
  test('of one quote is not believed, and what follows is', () => {
    const book = new QuoteBook('kraken')
    expect(book.take(quote(100), BTC, NOW_MS)).toBeNull()
    expect(book.take(quote(1_000), BTC, NOW_MS + 100)).toBe('jump')
    expect(book.take(quote(101), BTC, NOW_MS + 5_000)).toBeNull()
    expect(book.take(quote(1_000), BTC, NOW_MS + 5_100), 'the doubt begins anew').toBe('jump')
  })

  test('is believed once the new level was told for two seconds', () => {
    const book = new QuoteBook('kraken')
    book.take(quote(100), BTC, NOW_MS)
    const taken = [1_000, 1_500, 2_000, 2_999, 3_000].map((afterMs) =>
      book.take(quote(60 + afterMs / 10_000), BTC, NOW_MS + afterMs),
    )
    expect(taken).toEqual(['jump', 'jump', 'jump', 'jump', null])
  })

  test('all over the place is never believed', () => {
    const book = new QuoteBook('kraken')
    book.take(quote(100), BTC, NOW_MS)
    for (let second = 1; second < 60; second += 1)
      expect(book.take(quote(second % 2 === 0 ? 200 : 400), BTC, NOW_MS + second * 1_000)).toBe(
        'jump',
      )
  })

  test('from a level of long ago is none', () => {
    const book = new QuoteBook('kraken')
    book.take(quote(100), BTC, NOW_MS)
    expect(book.take(quote(300), BTC, NOW_MS + 600_000)).toBeNull()
  })

  test.prop([
    fc.array(fc.double({ min: 1e-6, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 50 }),
  ])('never makes two quotes of one moment differ by more than a fifth', (mids) => {
    const book = new QuoteBook('kraken')
    const believed = mids.filter((mid) => book.take(quote(mid), BTC, NOW_MS) === null)
    for (const [index, mid] of believed.entries())
      expect(Math.abs(Math.log(mid / (believed[index - 1] ?? mid)))).toBeLessThanOrEqual(0.2 + 1e-9)
  })
})
