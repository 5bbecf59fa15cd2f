import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, test } from 'vitest'
import { csvRows } from './csv-file.ts'
import type { Market } from './market.ts'
import { readTapes } from './recorded-tape.ts'
import { recordingMarket } from './recording-market.ts'
import { seededMarket } from './seeded-market.ts'

const directory = fileURLToPath(
  new URL('../../../../shared/data/hl-l2-trades-2025-09', import.meta.url),
)
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const startMs = Date.UTC(2026, 9, 7, 15, 7, 33, 211)
/** Books were silent in between. */
const outage = { fromMs: 1_757_015_891_504, untilMs: 1_757_015_909_480 }

describe.skipIf(!existsSync(directory))('a recording as a market (needs ../shared/data)', () => {
  let market: Market

  beforeAll(() => {
    market = recordingMarket(readTapes(directory), seededMarket({ seed: 1, startMs }), { startMs })
  })

  const shifted = (recordedMs: number): number => recordedMs + market.clockShiftMs

  test('replays the recorded trades in recorded spacing, each once', () => {
    const recorded = new Map<number, readonly [number, number, number]>()
    const header = ['timestamp', 'price', 'size', 'side', 'trade_id', 'exchange_timestamp']
    for (const cells of csvRows(`${directory}/trades_SOL.csv.gz`, header)) {
      const [, price, size, , id, time] = cells.map(Number)
      recorded.set(id ?? 0, [time ?? 0, price ?? 0, size ?? 0])
    }
    const fromMs = shifted(1_757_015_300_000)
    const untilMs = shifted(1_757_016_300_000)
    const trades = market.trades('SOL', fromMs, untilMs)
    expect(trades.length).toBeGreaterThan(1000)
    expect(new Set(trades.map(({ id }) => id)).size).toBe(trades.length)
    for (const { id, timeMs, price, sizeBase } of trades) {
      expect([timeMs - market.clockShiftMs, price, sizeBase]).toEqual(recorded.get(id))
    }
  })

  test('shows the newest recorded book, never crossed', () => {
    const header = ['timestamp', 'sequence', 'exchange_timestamp', 'bid_price_0']
    const rows = [...csvRows(`${directory}/orderbooks_BTC.csv.gz`, header)].slice(100, 110)
    for (const row of rows) {
      const book = market.book('BTC', shifted(Number(row[2])), 20)
      expect([book.bids[0]?.price, book.asks[0]?.price]).toEqual([Number(row[3]), Number(row[5])])
      expect(book.bids[0]?.price).toBeLessThan(book.asks[0]?.price ?? 0)
      expect(book.asks).toHaveLength(20)
    }
  })

  test('is down exactly while the recorder was', () => {
    expect(market.isOutage(shifted(outage.fromMs))).toBe(false)
    expect(market.isOutage(shifted(outage.fromMs + 1))).toBe(true)
    expect(market.isOutage(shifted(outage.untilMs - 1))).toBe(true)
    expect(market.isOutage(shifted(outage.untilMs))).toBe(false)
  })

  test('after the outage 30 trades bridge the gap for SOL and do not for BTC', () => {
    const overlap = (coin: string): number => {
      const before = market.lastTrades(coin, shifted(outage.fromMs), 200).map(({ id }) => id)
      const replay = market.lastTrades(coin, shifted(outage.untilMs), 30)
      return replay.filter(({ id }) => before.includes(id)).length
    }
    expect(overlap('SOL')).toBeGreaterThan(0)
    expect(overlap('BTC')).toBe(0)
  })

  test('candles are made of the trades, on top of a history that meets them', () => {
    const atMs = startMs + 12 * MINUTE_MS
    const minuteMs = Math.floor(atMs / MINUTE_MS) * MINUTE_MS - MINUTE_MS
    const range = { fromMs: minuteMs, untilMs: minuteMs + 1 }
    const [minute] = market.candles('BTC', '1m', range, atMs)
    const trades = market.trades('BTC', minuteMs - 1, minuteMs + MINUTE_MS - 1)
    const prices = trades.map(({ price }) => price)
    expect(minute).toMatchObject({
      open: prices[0],
      high: Math.max(...prices),
      low: Math.min(...prices),
      close: prices.at(-1),
      trades: trades.length,
    })
    const history = market.candles(
      'BTC',
      '4h',
      { fromMs: startMs - 400 * HOUR_MS, untilMs: atMs },
      atMs,
    )
    expect(history).toHaveLength(101)
    for (const [i, bar] of history.entries()) {
      const before = history[i - 1]
      if (before !== undefined) expect(Math.abs(bar.open / before.close - 1)).toBeLessThan(0.005)
    }
  })

  test('quarters merge from minutes across the join', () => {
    const atMs = startMs + HOUR_MS
    const quarterMs = Math.floor(startMs / (15 * MINUTE_MS)) * 15 * MINUTE_MS
    const range = { fromMs: quarterMs, untilMs: quarterMs + 1 }
    const [quarter] = market.candles('SOL', '15m', range, atMs)
    const minutes = market.candles(
      'SOL',
      '1m',
      { fromMs: quarterMs, untilMs: quarterMs + 15 * MINUTE_MS },
      atMs,
    )
    expect(minutes).toHaveLength(15)
    expect(quarter?.open).toBe(minutes[0]?.open)
    expect(quarter?.close).toBe(minutes[14]?.close)
    expect(quarter?.high).toBe(Math.max(...minutes.map(({ high }) => high)))
    expect(quarter?.low).toBe(Math.min(...minutes.map(({ low }) => low)))
    const trades = minutes.reduce((sum, minute) => sum + minute.trades, 0)
    expect(quarter?.trades).toBe(trades)
  })

  test('starts over at its end with new trade ids', () => {
    const lengthMs = 35 * MINUTE_MS
    const first = market.trades('BTC', startMs - 1, startMs + lengthMs)
    const later = market.trades('BTC', startMs + lengthMs, startMs + 3 * lengthMs)
    expect(later.length).toBeGreaterThan(first.length)
    const known = new Set(first.map(({ id }) => id))
    expect(later.filter(({ id }) => known.has(id))).toEqual([])
  })

  test('mark and mid follow the recording', () => {
    const atMs = startMs + 5 * MINUTE_MS
    const { bids, asks } = market.book('BTC', atMs, 1)
    const mid = ((bids[0]?.price ?? 0) + (asks[0]?.price ?? 0)) / 2
    const context = market.context('BTC', atMs)
    expect(context?.midPrice).toBe(mid)
    expect(Math.abs((context?.markPrice ?? 0) / mid - 1)).toBeLessThan(0.002)
    expect(context?.openInterestBase).toBeGreaterThan(0)
  })

  test('a delisted coin does not change any more', () => {
    const own = recordingMarket(readTapes(directory), seededMarket({ seed: 1, startMs }), {
      startMs,
    })
    const delistedMs = startMs + 7 * MINUTE_MS
    const atMs = startMs + 20 * MINUTE_MS
    const before = own.lastTrades('BTC', delistedMs - 1, 30)
    own.delist('BTC', delistedMs)
    expect(own.book('BTC', delistedMs, 20)).toEqual({ bids: [], asks: [] })
    expect(own.trades('BTC', delistedMs - 1, atMs)).toEqual([])
    expect(own.lastTrades('BTC', atMs, 30)).toEqual(before)
    const bars = own.candles('BTC', '1m', { fromMs: startMs, untilMs: atMs }, atMs)
    expect(bars.at(-1)?.openTimeMs).toBeLessThan(delistedMs)
    const price = before.at(-1)?.price
    expect(own.context('BTC', atMs)).toMatchObject({ markPrice: price, midPrice: null })
    expect(own.book('SOL', atMs, 20).bids).toHaveLength(20)
  })

  test('other coins stay those of the base', () => {
    const base = seededMarket({ seed: 1, startMs })
    expect(market.context('ETH', startMs)).toEqual(base.context('ETH', startMs))
    expect(market.universe()).toEqual(base.universe())
  })
})
