import type { Bar } from '../../domain/bar.ts'
import type { Batch, MarketEvent } from '../../domain/event.ts'
import type { Timeframe } from '../../domain/timeframe.ts'
import { timeframeMs } from '../../domain/timeframe.ts'
import { BOUNDARY_MS, book, context, history, NOW_MS, universe } from './tape.ts'

const HOUR_MS = 3_600_000
const HOURS = 720

/**
 * Everything that a coin can tell, of many coins that have nothing in common but their seed: candles of both
 * timeframes, a month of funding and of open interest, figures and a book.
 */
export function randomMarket(coins: readonly string[], seed: number): Batch[] {
  const chance = chanceOf(seed)
  return [
    [
      universe(coins),
      {
        kind: 'feed-status',
        feed: 'venue',
        state: 'up',
        reason: 'open',
        coins: [],
        timeExchangeMs: NOW_MS,
        timeReceivedMs: NOW_MS,
      },
    ],
    ...coins.map((coin) => coinEvents(coin, chance)),
  ]
}

function coinEvents(coin: string, chance: () => number): MarketEvent[] {
  const at = { timeExchangeMs: NOW_MS, timeReceivedMs: NOW_MS }
  const price = 10 ** (6 * chance() - 3)
  const calm = 0.002 + 0.01 * chance()
  const drift = 0.0008 * (chance() - 0.5)
  const rate = (spread: number) => 0.0000125 + spread * (chance() - 0.5)
  const interest = 10 ** (3 + 4 * chance())
  const volatile = chance() < 0.5 ? 1 : 3
  const hour = (index: number) => BOUNDARY_MS - (HOURS - 1 - index) * HOUR_MS
  const mid = price * (1 + 0.002 * (chance() - 0.5))
  return [
    context(coin, {
      markPrice: mid * (1 + 0.0005 * (chance() - 0.5)),
      midPrice: mid,
      prevDayPrice: price * (1 + 0.1 * (chance() - 0.5)),
      fundingRateHourly: rate(0.0002),
      openInterestBase: interest * (1 + 0.1 * (chance() - 0.5)),
      dayNotional: 10 ** (5 + 4 * chance()),
    }),
    history(
      coin,
      '4h',
      walk('4h', 1_200, { price, calm: 3 * calm, drift: 2 * drift, volatile }, chance),
    ),
    history(coin, '15m', walk('15m', 1_344, { price, calm, drift, volatile }, chance)),
    {
      kind: 'funding-history',
      coin,
      rows: Array.from({ length: HOURS }, (_, index) => ({
        coin,
        timeMs: hour(index),
        rateHourly: rate(0.0001),
        premium: 0,
        isSettled: true,
      })),
      ...at,
    },
    {
      kind: 'sample-history',
      coin,
      samples: Array.from({ length: HOURS }, (_, index) => ({
        coin,
        timeMs: hour(index),
        markPrice: price * (1 + 0.04 * (chance() - 0.5)),
        oraclePrice: price,
        openInterestBase: interest * (1 + 0.05 * (chance() - 0.5)),
        dayNotional: 1e6,
        fundingRateHourly: 0,
        premium: 0,
        spreadBps: 1,
        impactSpreadBps: 2,
      })),
      ...at,
    },
    book(coin, {
      bids: [{ price: mid * 0.9999, sizeBase: 1e6 / price }],
      asks: [{ price: mid * 1.0001, sizeBase: 1e6 / price }],
    }),
  ]
}

/** Bars that end at the boundary and at that price; the last tenth of them is as volatile as is said. */
function walk(
  timeframe: Timeframe,
  count: number,
  of: {
    readonly price: number
    readonly calm: number
    readonly drift: number
    readonly volatile: number
  },
  chance: () => number,
): Bar[] {
  const closes = [of.price]
  for (let back = 1; back <= count; back += 1) {
    const size = back < count / 10 ? of.calm * of.volatile : of.calm
    const move = Math.exp(of.drift + size * (chance() - 0.5))
    closes.unshift((closes[0] as number) / move)
  }
  return Array.from({ length: count }, (_, index) => {
    const [open, close] = [closes[index] as number, closes[index + 1] as number]
    return {
      openTimeMs: BOUNDARY_MS - (count - index) * timeframeMs[timeframe],
      open,
      high: Math.max(open, close) * (1 + of.calm * 0.2 * chance()),
      low: Math.min(open, close) * (1 - of.calm * 0.2 * chance()),
      close,
      volumeBase: 1 + 100 * chance(),
    }
  })
}

/** Numbers from 0 to 1 that look like chance (mulberry32). */
function chanceOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
