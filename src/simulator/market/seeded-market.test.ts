import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import { premiumOf } from './funding.ts'
import type { Candle, CandleInterval, Market } from './market.ts'
import { candleIntervalMs } from './market.ts'
import { roundPrice } from './precision.ts'
import { seededMarket } from './seeded-market.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const startMs = Date.UTC(2026, 9, 7, 15, 7, 33, 211)
const market = seededMarket({ seed: 3, startMs })
const live = market.universe().filter(({ isDelisted }) => !isDelisted)
const liveCoins = fc.constantFrom(...live.map(({ coin }) => coin))
const moments = fc.integer({ min: startMs - 20 * DAY_MS, max: startMs + DAY_MS })

function last(of: Market, coin: string, interval: CandleInterval, bars: number, atMs: number) {
  const fromMs =
    (Math.floor(atMs / candleIntervalMs[interval]) - bars + 1) * candleIntervalMs[interval]
  return of.candles(coin, interval, { fromMs, untilMs: atMs + 1 }, atMs)
}

/** Merges bars the way a client does it: first open, extremes, last close, sums. */
function merged(bars: readonly Candle[], stepMs: number, sizeDecimals: number): Candle[] {
  const groups = new Map<number, Candle[]>()
  for (const bar of bars) {
    const openTimeMs = Math.floor(bar.openTimeMs / stepMs) * stepMs
    groups.set(openTimeMs, [...(groups.get(openTimeMs) ?? []), bar])
  }
  return [...groups].map(([openTimeMs, group]) => ({
    openTimeMs,
    open: group[0]?.open ?? Number.NaN,
    high: Math.max(...group.map(({ high }) => high)),
    low: Math.min(...group.map(({ low }) => low)),
    close: group.at(-1)?.close ?? Number.NaN,
    volumeBase: Number(
      group.reduce((sum, { volumeBase }) => sum + volumeBase, 0).toFixed(sizeDecimals),
    ),
    trades: group.reduce((sum, { trades }) => sum + trades, 0),
  }))
}

describe('the seeded market', () => {
  test('lists at least 180 live coins and some delisted ones, BTC first', () => {
    const universe = market.universe()
    expect(live.length).toBeGreaterThanOrEqual(180)
    expect(universe.length - live.length).toBeGreaterThan(20)
    expect(universe[0]?.coin).toBe('BTC')
    expect(new Set(live.map(({ maxLeverage }) => maxLeverage))).toEqual(
      new Set([40, 25, 20, 10, 5, 3]),
    )
  })

  test('of fewer coins lists the first, which trade as among all', () => {
    const few = seededMarket({ seed: 3, startMs, coins: 30 })
    expect(few.universe()).toEqual(market.universe().slice(0, 30))
    for (const { coin } of few.universe()) {
      expect(few.context(coin, startMs)).toEqual(market.context(coin, startMs))
      expect(few.book(coin, startMs, 20)).toEqual(market.book(coin, startMs, 20))
    }
  })

  test.prop([liveCoins], { numRuns: 12 })('15m bars merge into 1h and 4h exactly', (coin) => {
    const { sizeDecimals = 0 } = market.instrument(coin) ?? {}
    const atMs = Math.floor(startMs / DAY_MS) * DAY_MS - 1
    const quarters = last(market, coin, '15m', 960, atMs)
    expect(quarters).toHaveLength(960)
    const hours = last(market, coin, '1h', 240, atMs)
    expect(merged(quarters, HOUR_MS, sizeDecimals)).toEqual(hours)
    expect(merged(hours, 4 * HOUR_MS, sizeDecimals)).toEqual(last(market, coin, '4h', 60, atMs))
  })

  test.prop([liveCoins], { numRuns: 12 })('1m bars merge into 15m exactly', (coin) => {
    const { sizeDecimals = 0 } = market.instrument(coin) ?? {}
    const atMs = Math.floor(startMs / HOUR_MS) * HOUR_MS - 1
    const minutes = last(market, coin, '1m', 480, atMs)
    const quarters = last(market, coin, '15m', 32, atMs)
    // A quarter that opens without a trade is flat; its minutes are flat at the same price.
    expect(merged(minutes, 15 * MINUTE_MS, sizeDecimals)).toEqual(quarters)
  })

  // On and back within minutes: what is remembered of an open bar is of another instant.
  const clockSteps = fc.array(fc.integer({ min: -90_000, max: 90_000 }), {
    minLength: 1,
    maxLength: 6,
  })
  test.prop([liveCoins, moments, clockSteps], { numRuns: 60 })(
    'the open bar is made of the trades so far, wherever the clock was before',
    (coin, baseMs, steps) => {
      for (const atMs of [baseMs, ...steps.map((stepMs) => baseMs + stepMs)]) {
        for (const interval of ['1m', '15m'] as const) {
          const open = market.openCandle(coin, interval, atMs)
          const stepMs = candleIntervalMs[interval]
          const trades = market.trades(coin, Math.floor(atMs / stepMs) * stepMs - 1, atMs)
          expect(open?.trades ?? 0).toBe(trades.length)
          if (open === undefined) continue
          expect(open.open).toBe(trades[0]?.price)
          expect(open.high).toBe(Math.max(...trades.map(({ price }) => price)))
          expect(open.low).toBe(Math.min(...trades.map(({ price }) => price)))
          expect(open.close).toBe(trades.at(-1)?.price)
        }
      }
    },
  )

  test.prop([liveCoins, moments], { numRuns: 60 })(
    'trades lie inside their 15m bar',
    (coin, atMs) => {
      const quarterMs = 15 * MINUTE_MS
      const openMs = Math.floor(atMs / quarterMs) * quarterMs
      const bar = market.candles(
        coin,
        '15m',
        { fromMs: openMs, untilMs: openMs + 1 },
        openMs + quarterMs,
      )[0]
      for (const { price } of market.trades(coin, openMs - 1, atMs)) {
        expect(price).toBeLessThanOrEqual(bar?.high ?? 0)
        expect(price).toBeGreaterThanOrEqual(bar?.low ?? Infinity)
      }
    },
  )

  test.prop([liveCoins, moments], { numRuns: 100 })(
    'a book stands where the newest trade left it',
    (coin, atMs) => {
      const trade = market.lastTrades(coin, atMs, 1)[0]
      const { bids, asks } = market.book(coin, atMs, 1)
      const best = trade?.side === 'B' ? asks[0] : bids[0]
      expect(best?.price).toBe(trade?.price)
    },
  )

  test.prop([liveCoins, moments], { numRuns: 100 })(
    'a context is complete, positive and follows the formula of the premium',
    (coin, atMs) => {
      const { sizeDecimals = 0 } = market.instrument(coin) ?? {}
      const context = market.context(coin, atMs)
      expect(context?.openInterestBase).toBeGreaterThan(0)
      expect(context?.dayNotionalUsd).toBeGreaterThan(0)
      const { markPrice = 0, oraclePrice = 0, midPrice, impact, premium } = context ?? {}
      expect(impact, 'the book holds the impact notional').not.toBeNull()
      expect(premium).toBe(premiumOf(impact?.bid ?? 0, impact?.ask ?? 0, oraclePrice))
      expect(roundPrice(markPrice, sizeDecimals)).toBe(markPrice)
      expect(Math.abs(markPrice / (midPrice ?? 0) - 1)).toBeLessThan(0.05)
      expect(Math.abs(oraclePrice / markPrice - 1)).toBeLessThan(0.02)
      expect(Math.abs(context?.fundingRateHourly ?? 1)).toBeLessThan(0.001)
    },
  )

  test('answers independently of earlier requests', () => {
    const fresh = seededMarket({ seed: 3, startMs })
    const atMs = startMs + 40 * MINUTE_MS
    const ask = (of: Market) => [
      last(of, 'SOL', '4h', 300, atMs),
      of.lastTrades('SOL', atMs, 30),
      of.book('SOL', atMs, 20),
      of.context('SOL', atMs),
      of.fundingHistory('SOL', { fromMs: startMs - DAY_MS, untilMs: atMs }, atMs, 500),
    ]
    last(market, 'SOL', '1m', 5, startMs + 3 * DAY_MS)
    expect(ask(fresh)).toEqual(ask(market))
  })

  test('another seed is another market', () => {
    const other = seededMarket({ seed: 4, startMs })
    expect(last(other, 'ETH', '15m', 10, startMs)).not.toEqual(
      last(market, 'ETH', '15m', 10, startMs),
    )
  })

  test('has 5,000 bars of every length up to 4h', () => {
    for (const interval of ['1m', '15m', '1h', '4h'] as const) {
      expect(last(market, 'kPEPE', interval, 5000, startMs).length).toBeGreaterThanOrEqual(4999)
    }
  })

  test('moves together and apart', () => {
    const closes = (coin: string): number[] =>
      last(market, coin, '1h', 720, startMs).map(({ close }) => Math.log(close))
    const correlations = ['ETH', 'SOL', 'HYPE', 'DOGE', 'LINK', 'AVAX', 'WIF', 'ZEC'].map((coin) =>
      correlation(differences(closes('BTC')), differences(closes(coin))),
    )
    expect(Math.min(...correlations)).toBeGreaterThan(0.05)
    expect(Math.max(...correlations)).toBeLessThan(0.95)
    expect(Math.max(...correlations) - Math.min(...correlations)).toBeGreaterThan(0.15)
  })

  test('volatility clusters: large moves follow large moves', () => {
    const moves = ['BTC', 'ETH', 'SOL', 'DOGE'].flatMap((coin) => {
      const closes = last(market, coin, '15m', 4000, startMs).map(({ close }) => Math.log(close))
      return [differences(closes).map(Math.abs)]
    })
    for (const sizes of moves)
      expect(correlation(sizes.slice(4), sizes.slice(0, -4))).toBeGreaterThan(0.05)
  })

  test('most coins pay the floor of the funding rate, some do not', () => {
    const rates = live.map(({ coin }) => market.context(coin, startMs)?.fundingRateHourly)
    const atFloor = rates.filter((rate) => rate === 0.0000125).length
    expect(atFloor / rates.length).toBeGreaterThan(0.5)
    expect(atFloor).toBeLessThan(rates.length)
  })

  test('settled funding has one row an hour, a moment after it', () => {
    const range = { fromMs: startMs - 30 * DAY_MS, untilMs: startMs }
    const rows = market.fundingHistory('BTC', range, startMs, 500)
    expect(rows).toHaveLength(500)
    for (const { timeMs } of rows) {
      expect(timeMs % HOUR_MS).toBeGreaterThan(0)
      expect(timeMs % HOUR_MS).toBeLessThanOrEqual(118)
    }
    const [first] = rows
    const from = { ...range, fromMs: first?.timeMs ?? 0 }
    expect(market.fundingHistory('BTC', from, startMs, 1), 'start is inclusive').toEqual([first])
  })

  test('a delisted coin is frozen', () => {
    const coin = market.universe().find(({ isDelisted }) => isDelisted)?.coin ?? ''
    expect(market.context(coin, startMs)).toMatchObject({
      midPrice: null,
      premium: null,
      impact: null,
      openInterestBase: 0,
    })
    expect(market.book(coin, startMs, 20)).toEqual({ bids: [], asks: [] })
    expect(market.trades(coin, startMs - DAY_MS, startMs)).toEqual([])
    expect(last(market, coin, '15m', 96, startMs)).toEqual([])
  })

  test('a new listing joins at the end and trades', () => {
    const own = seededMarket({ seed: 3, startMs })
    own.addListing(
      { coin: 'NEWCOIN', sizeDecimals: 1, maxLeverage: 3, priceUsd: 2.5, dayNotionalUsd: 5e6 },
      startMs,
    )
    expect(own.universe().at(-1)?.coin).toBe('NEWCOIN')
    expect(own.universe()).toHaveLength(market.universe().length + 1)
    expect(own.trades('NEWCOIN', startMs, startMs + 10 * MINUTE_MS).length).toBeGreaterThan(0)
    expect(own.context('NEWCOIN', startMs + MINUTE_MS)?.midPrice).toBeGreaterThan(0)
    own.delist('NEWCOIN', startMs + HOUR_MS)
    expect(own.book('NEWCOIN', startMs + HOUR_MS, 20).bids).toEqual([])
  })
})

function differences(values: readonly number[]): number[] {
  return values.slice(1).map((value, i) => value - (values[i] ?? Number.NaN))
}

function correlation(a: readonly number[], b: readonly number[]): number {
  const mean = (values: readonly number[]) => values.reduce((sum, v) => sum + v, 0) / values.length
  const [meanA, meanB] = [mean(a), mean(b)]
  let covariance = 0
  let varianceA = 0
  let varianceB = 0
  for (const [i, value] of a.entries()) {
    const [da, db] = [value - meanA, (b[i] ?? Number.NaN) - meanB]
    covariance += da * db
    varianceA += da * da
    varianceB += db * db
  }
  return covariance / Math.sqrt(varianceA * varianceB)
}
