import type { Bar } from './bar.ts'
import type { ExternalEvent } from './external.ts'
import type { FundingRow, MarketSample } from './history.ts'
import type { Listing } from './listing.ts'
import type { Timeframe } from './timeframe.ts'

/**
 * Every event carries both clocks: when it happened, by the venue's, and when it reached us, by ours;
 * for one that was held up, when it would have. Where the venue sends no time, the second stands for the
 * first, set to the venue's clock where the two are apart, as soon as that is known.
 */
export type Stamped = {
  readonly timeExchangeMs: number
  readonly timeReceivedMs: number
}

/** The venue's complete list of perpetuals; replaces the one before. */
type UniverseEvent = Stamped & {
  readonly kind: 'universe'
  readonly listings: readonly Listing[]
}

/**
 * Past bars of one series, ascending, without holes. The last one may still be open. Both times are the
 * instant at which they were asked for: what they say about later is not yet the last word.
 */
type HistoryEvent = Stamped & {
  readonly kind: 'history'
  readonly coin: string
  readonly timeframe: Timeframe
  readonly bars: readonly Bar[]
  /** What was asked from: bars that begin later are all that the venue has. Absent: there may be earlier ones. */
  readonly fromMs?: number
}

/** The whole present state of one bar. A later event for the same open time replaces it. */
export type CandleEvent = Stamped & {
  readonly kind: 'candle'
  readonly coin: string
  readonly timeframe: Timeframe
  readonly bar: Bar
}

export type TradeEvent = Stamped & {
  readonly kind: 'trade'
  readonly coin: string
  /** The venue's trade id: the key for telling a replayed trade from a new one. */
  readonly tradeId: number
  readonly takerSide: 'buy' | 'sell'
  readonly price: number
  readonly sizeBase: number
  /** Addresses of both accounts, lower case; neither is there where the venue does not tell both. */
  readonly buyer?: string
  readonly seller?: string
}

export type BookLevel = {
  readonly price: number
  readonly sizeBase: number
}

/** The visible book, best level first on both sides; an empty side is an empty array. */
export type BookEvent = Stamped & {
  readonly kind: 'book'
  readonly coin: string
  readonly bids: readonly BookLevel[]
  readonly asks: readonly BookLevel[]
}

export type TopOfBookEvent = Stamped & {
  readonly kind: 'top-of-book'
  readonly coin: string
  readonly bid: BookLevel | null
  readonly ask: BookLevel | null
}

/** The venue's derivative figures of one coin. */
export type ContextEvent = Stamped & {
  readonly kind: 'context'
  readonly coin: string
  readonly markPrice: number
  readonly oraclePrice: number
  /** null on a delisted or one-sided market, as are the three below. */
  readonly midPrice: number | null
  readonly premium: number | null
  readonly impactBid: number | null
  readonly impactAsk: number | null
  /** Running estimate of the next hourly rate, as a fraction. */
  readonly fundingRateHourly: number
  /** One-sided, in the coin's unit. */
  readonly openInterestBase: number
  readonly dayNotionalUsd: number
  /** null for a coin that was listed since. */
  readonly prevDayPrice: number | null
}

/** The venue's frequent, sparse price refresh: a field that did not change since the last one is absent. */
export type MarkEvent = Stamped & {
  readonly kind: 'mark'
  readonly coin: string
  readonly markPrice?: number
  readonly midPrice?: number | null
}

/**
 * In-band word about the feed itself: what follows `down` may have missed something. `degraded` hears
 * everything, but the venue's clock and ours are too far apart for ages to be trusted.
 */
export type FeedStatusEvent = Stamped & {
  readonly kind: 'feed-status'
  readonly feed: 'venue'
  readonly state: 'up' | 'degraded' | 'down'
  readonly reason: string
  /** With `down`: whose candles and trades came over the connection that was lost. */
  readonly coins: readonly string[]
}

/**
 * Trades between the two instants are lost for good: the venue replayed too few to reach back to the
 * last known one, or one of that instant could not be read. Candles are whole again once their history was
 * asked; whatever is summed up from single trades is not.
 */
export type TradeGapEvent = Stamped & {
  readonly kind: 'trade-gap'
  readonly coin: string
  readonly fromMs: number
  readonly toMs: number
}

/**
 * One coin fell silent on a connection that lives, or is heard again. In between nothing but history
 * vouches for its candles; what else the venue sends of it proves nothing about them.
 */
export type SilenceEvent = Stamped & {
  readonly kind: 'silence'
  readonly coin: string
  readonly channel: SilentChannel
  readonly state: 'silent' | 'heard'
}

export type SilentChannel = 'book' | 'trades' | 'candle'

/**
 * Hours of funding that are over: the venue's own record, or what our history on disk remembers of it.
 * Ascending; both times are the instant at which they were asked for or read.
 */
type FundingHistoryEvent = Stamped & {
  readonly kind: 'funding-history'
  readonly coin: string
  readonly rows: readonly FundingRow[]
  /** Of our own history, which has them. */
  readonly isRemembered?: true
}

/**
 * Closed 1h bars, from the venue or from our history on disk, which may have holes. Ascending; both times are
 * the instant at which they were asked or read.
 */
export type HourlyHistoryEvent = Stamped & {
  readonly kind: 'hourly-history'
  readonly coin: string
  readonly bars: readonly Bar[]
  /** What the venue was asked from; absent for our own history. */
  readonly fromMs?: number
  /** Of our own history, which has them. */
  readonly isRemembered?: true
}

/** What our history on disk remembers of a coin, told once when the engine starts. Ascending. */
type SampleHistoryEvent = Stamped & {
  readonly kind: 'sample-history'
  readonly coin: string
  readonly samples: readonly MarketSample[]
}

/** What the venue says about the next funding of one coin, its own and that of other exchanges. */
export type VenueFundingsEvent = Stamped & {
  readonly kind: 'venue-fundings'
  readonly coin: string
  readonly fundings: readonly VenueFunding[]
}

export type VenueFunding = {
  /** The venue's word for the exchange, such as `BinPerp`. */
  readonly venue: string
  /** As a fraction, for one interval of that exchange. */
  readonly rate: number
  readonly intervalHours: number
  readonly nextFundingMs: number
}

/** Spot prices of the tokens that a dex may have as collateral, by the venue itself. Replaces the list before. */
export type CollateralPricesEvent = Stamped & {
  readonly kind: 'collateral-prices'
  readonly tokens: readonly TokenPrice[]
}

export type TokenPrice = {
  /** The venue's index of the spot token. */
  readonly token: number
  readonly name: string
  /** Mid of its pair against USDC; null where that has none that can be relied on. */
  readonly usdcPrice: number | null
  /** Turnover of that pair in 24 hours, USDC; 0 where there is no such pair. */
  readonly dayNotionalUsd: number
}

/** What one account holds of one coin by the venue's own books; replaces what it held before. */
export type AccountPositionEvent = Stamped & {
  readonly kind: 'account-position'
  readonly coin: string
  /** Address of the account, lower case. */
  readonly account: string
  /** Positive for a long, negative for a short, 0 when the account holds none any more. */
  readonly sizeBase: number
  readonly entryPrice: number
  /** As set by the account, times. */
  readonly leverage: number
  /** The venue's own figure; null where it has none, as for a position that its account covers whole. */
  readonly liquidationPrice: number | null
}

type VenueEvent =
  | UniverseEvent
  | HistoryEvent
  | CandleEvent
  | TradeEvent
  | BookEvent
  | TopOfBookEvent
  | ContextEvent
  | MarkEvent
  | FeedStatusEvent
  | TradeGapEvent
  | SilenceEvent
  | FundingHistoryEvent
  | HourlyHistoryEvent
  | SampleHistoryEvent
  | VenueFundingsEvent
  | AccountPositionEvent
  | CollateralPricesEvent

export type MarketEvent = VenueEvent | ExternalEvent

/** News of the venue about one coin. */
export type CoinEvent = Exclude<
  VenueEvent,
  { kind: 'universe' | 'feed-status' | 'collateral-prices' }
>

/** All events of one frame. Streams carry batches, never single ticks. */
export type Batch = readonly MarketEvent[]
