import type { Bar } from '../../domain/bar.ts'

/** One perpetual as the venue's metadata lists it. */
export type Instrument = {
  readonly coin: string
  readonly sizeDecimals: number
  readonly maxLeverage: number
  readonly marginTableId: number
  readonly isDelisted: boolean
  readonly isStrictlyIsolated: boolean
}

/** What a coin that is listed while the venue runs starts from. */
export type NewListing = {
  readonly coin: string
  readonly sizeDecimals: number
  readonly maxLeverage: number
  readonly priceUsd: number
  readonly dayNotionalUsd: number
}

export type Trade = {
  readonly id: number
  readonly timeMs: number
  /** `B`: the taker bought, `A`: the taker sold. */
  readonly side: 'B' | 'A'
  readonly price: number
  readonly sizeBase: number
  /** Fills of one taker order share it. */
  readonly orderKey: number
  /** Accounts of a trade that the venue enforced; those of another one are drawn by its order. */
  readonly parties?: { readonly taker: number; readonly maker: number }
}

export type Level = {
  readonly price: number
  readonly sizeBase: number
  readonly orders: number
}

/** Best level first on both sides; both empty for a delisted coin. */
export type Book = {
  readonly bids: readonly Level[]
  readonly asks: readonly Level[]
}

export type Candle = Bar & { readonly trades: number }

export type Context = {
  readonly markPrice: number
  readonly oraclePrice: number
  /** null on a delisted or one-sided market, as are the two below. */
  readonly midPrice: number | null
  readonly premium: number | null
  readonly impact: { readonly bid: number; readonly ask: number } | null
  readonly fundingRateHourly: number
  readonly openInterestBase: number
  readonly prevDayPrice: number
  readonly dayNotionalUsd: number
  readonly dayVolumeBase: number
}

export type SettledFunding = {
  readonly timeMs: number
  readonly fundingRateHourly: number
  readonly premium: number
}

/** From inclusive, until exclusive. */
export type TimeRange = { readonly fromMs: number; readonly untilMs: number }

/**
 * What the simulated venue trades. Every answer is a function of the market's options and of the
 * instant asked for, never of earlier questions, so that pages, frames and two runs agree.
 * A coin that the universe does not list is answered like an empty market.
 */
export interface Market {
  /** Added to recorded time to get the venue's; 0 where nothing recorded is replayed. */
  readonly clockShiftMs: number
  /** In the venue's order: append-only but for `relist`, delisted coins stay. */
  universe(): readonly Instrument[]
  instrument(coin: string): Instrument | undefined
  /** Trades after the first instant, up to and including the second; ascending. */
  trades(coin: string, afterMs: number, throughMs: number): readonly Trade[]
  /** The newest `count` trades at an instant; ascending. */
  lastTrades(coin: string, atMs: number, count: number): readonly Trade[]
  book(coin: string, atMs: number, levels: number): Book
  context(coin: string, atMs: number): Context | undefined
  /**
   * Bars that overlap the range, as they stand at `atMs`; ascending. The last one may be open. A bar
   * without a trade is absent while it is open and appears as a flat row once it has closed.
   */
  candles(coin: string, interval: CandleInterval, range: TimeRange, atMs: number): readonly Candle[]
  /** The bar that is open at an instant; undefined before its first trade. */
  openCandle(coin: string, interval: CandleInterval, atMs: number): Candle | undefined
  /** The first `rowsMax` settled rows inside the range and not after `atMs`; ascending. */
  fundingHistory(
    coin: string,
    range: TimeRange,
    atMs: number,
    rowsMax: number,
  ): readonly SettledFunding[]
  /** Whether the recorded connection was down at an instant. */
  isOutage(atMs: number): boolean
  addListing(listing: NewListing, atMs: number): void
  delist(coin: string, atMs: number): void
  /** Takes a coin out of its place and lists it last, so that those behind it move up. */
  relist(coin: string): void
}

const MINUTE_MS = 60_000

/** Intervals that the simulated venue serves, all aligned to the Unix epoch. */
export const candleIntervalMs = {
  '1m': MINUTE_MS,
  '3m': 3 * MINUTE_MS,
  '5m': 5 * MINUTE_MS,
  '15m': 15 * MINUTE_MS,
  '30m': 30 * MINUTE_MS,
  '1h': 60 * MINUTE_MS,
  '2h': 120 * MINUTE_MS,
  '4h': 240 * MINUTE_MS,
  '8h': 480 * MINUTE_MS,
  '12h': 720 * MINUTE_MS,
  '1d': 1440 * MINUTE_MS,
  '3d': 3 * 1440 * MINUTE_MS,
  '1w': 7 * 1440 * MINUTE_MS,
} as const

export type CandleInterval = keyof typeof candleIntervalMs

export function isCandleInterval(text: string): text is CandleInterval {
  return Object.hasOwn(candleIntervalMs, text)
}
