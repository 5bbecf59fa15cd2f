import type { Bar } from '../../domain/bar.ts'
import type { Batch, BookEvent, ContextEvent, MarketEvent } from '../../domain/event.ts'
import { FUNDING_STEP_MS } from '../../domain/history.ts'
import type { Timeframe } from '../../domain/timeframe.ts'
import { timeframeMs } from '../../domain/timeframe.ts'

/** Where every timeframe's forming bar has begun. */
export const BOUNDARY_MS = Date.UTC(2026, 5, 1, 12)

/** Shortly after it, when the bars before are final. */
export const NOW_MS = BOUNDARY_MS + 5_000

const at = (timeMs: number) => ({ timeExchangeMs: timeMs, timeReceivedMs: timeMs })

/** Bars that end at the boundary: a slow wave with a drift, so that no indicator is trivial. */
export function wave(timeframe: Timeframe, count: number, amplitude = 0.05): Bar[] {
  const stepMs = timeframeMs[timeframe]
  const priceAt = (index: number) => 100 * (1 + amplitude * Math.sin(index / 17) + index * 1e-4)
  return Array.from({ length: count }, (_, index) => {
    const [open, close] = [priceAt(index), priceAt(index + 1)]
    return {
      openTimeMs: BOUNDARY_MS - (count - index) * stepMs,
      open,
      high: Math.max(open, close) * 1.001,
      low: Math.min(open, close) * 0.999,
      close,
      volumeBase: 10 + (index % 7),
    }
  })
}

export function flat(timeframe: Timeframe, count: number): Bar[] {
  return wave(timeframe, count, 0).map((bar) => ({
    ...bar,
    open: 100,
    high: 100,
    low: 100,
    close: 100,
    volumeBase: 0,
  }))
}

/** A coin from nothing to answerable: listing, figures, history of both timeframes, book, funding, open interest. */
export function warmTape(coin: string, bars: typeof wave = wave): Batch[] {
  return [
    [
      universe([coin]),
      { kind: 'feed-status', feed: 'venue', state: 'up', reason: 'open', coins: [], ...at(NOW_MS) },
    ],
    [context(coin)],
    [history(coin, '4h', bars('4h', 1_200)), history(coin, '15m', bars('15m', 1_344))],
    [book(coin), fundingHistory(coin), reading(coin)],
  ]
}

export function universe(coins: readonly string[], delisted: readonly string[] = []): MarketEvent {
  const listing = (coin: string, isDelisted: boolean) => ({
    coin,
    sizeDecimals: 2,
    maxLeverage: 3,
    marginTiers: [{ lowerBoundUsd: 0, maxLeverage: 3 }],
    isDelisted,
  })
  return {
    kind: 'universe',
    listings: [
      ...coins.map((coin) => listing(coin, false)),
      ...delisted.map((coin) => listing(coin, true)),
    ],
    ...at(NOW_MS),
  }
}

/** @param fromMs what was asked from; by default the first bar, so that there may be older ones */
export function history(
  coin: string,
  timeframe: Timeframe,
  bars: readonly Bar[],
  fromMs = bars[0]?.openTimeMs ?? 0,
): MarketEvent {
  return { kind: 'history', coin, timeframe, bars, fromMs, ...at(NOW_MS) }
}

/** A month of settled hours, the last at the boundary: a slow wave around what a balanced market pays. */
export function fundingHistory(coin: string): MarketEvent {
  const rows = Array.from({ length: 720 }, (_, index) => ({
    coin,
    timeMs: BOUNDARY_MS - (719 - index) * FUNDING_STEP_MS,
    rateHourly: 0.0000125 + 0.00002 * Math.sin(index / 11),
    premium: 0.0001 * Math.sin(index / 11),
    isSettled: true,
  }))
  return { kind: 'funding-history', coin, rows, ...at(NOW_MS) }
}

/** Figures of five minutes before the boundary: enough for the shortest change of open interest. */
export function reading(coin: string, minutesAgo = 5): MarketEvent {
  const sample = {
    coin,
    timeMs: BOUNDARY_MS - minutesAgo * 60_000,
    markPrice: 110,
    oraclePrice: 110.1,
    openInterestBase: 1234.5,
    dayNotional: 5e6,
    fundingRateHourly: 0.0000214,
    premium: null,
    spreadBps: null,
    impactSpreadBps: null,
  }
  return { kind: 'sample-history', coin, samples: [sample], ...at(NOW_MS) }
}

export function context(coin: string, changes: Partial<ContextEvent> = {}): ContextEvent {
  return {
    kind: 'context',
    coin,
    markPrice: 110,
    oraclePrice: 110.1,
    midPrice: 110.05,
    premium: 0,
    impactBid: 109.9,
    impactAsk: 110.2,
    fundingRateHourly: 0.0000214,
    openInterestBase: 1234.5,
    dayNotional: 5e6,
    prevDayPrice: 108,
    ...at(NOW_MS),
    ...changes,
  }
}

export function book(coin: string, changes: Partial<BookEvent> = {}): BookEvent {
  const side = (sign: 1 | -1) =>
    Array.from({ length: 20 }, (_, level) => ({
      price: 110 + sign * (0.01 + level * 0.02),
      sizeBase: 50 + level * 10,
    }))
  return { kind: 'book', coin, bids: side(-1), asks: side(1), ...at(NOW_MS), ...changes }
}
