import type { Bar } from './bar.ts'
import type { ExternalEvent } from './external.ts'
import type { FundingRow, MarketSample } from './history.ts'
import type { Listing } from './listing.ts'
import type { Timeframe } from './timeframe.ts'

/**
 * Exchange time and receive time. For a delayed frame the receive time is when it would have arrived. If the venue sends
 * no time, the exchange time is the receive time, corrected by the known offset of the venue's clock.
 */
export type Stamped = {
  readonly timeExchangeMs: number
  readonly timeReceivedMs: number
}

/** The venue's complete list of perpetuals; replaces the previous list. */
type UniverseEvent = Stamped & {
  readonly kind: 'universe'
  readonly listings: readonly Listing[]
}

/** Past bars of one series, ascending, without gaps; the last may be open. Both times are the request time. */
export type HistoryEvent = Stamped & {
  readonly kind: 'history'
  readonly coin: string
  readonly timeframe: Timeframe
  readonly bars: readonly Bar[]
  /** Requested start: the venue has no earlier bars than those returned. Absent: there may be earlier bars. */
  readonly fromMs?: number
}

/** Complete state of one bar; a later event for the same open time replaces it. */
export type CandleEvent = Stamped & {
  readonly kind: 'candle'
  readonly coin: string
  readonly timeframe: Timeframe
  readonly bar: Bar
}

export type TradeEvent = Stamped & {
  readonly kind: 'trade'
  readonly coin: string
  /** The venue's trade id, by which repeated trades are recognised. */
  readonly tradeId: number
  readonly takerSide: 'buy' | 'sell'
  readonly price: number
  readonly sizeBase: number
  /** Account addresses, lower case; both absent unless the venue sends both. */
  readonly buyer?: string
  readonly seller?: string
}

export type BookLevel = {
  readonly price: number
  readonly sizeBase: number
}

/** The visible book, best level first. */
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

/** The venue's figures of one coin (`activeAssetCtx`). */
export type ContextEvent = Stamped & {
  readonly kind: 'context'
  readonly coin: string
  readonly markPrice: number
  readonly oraclePrice: number
  /** null for a delisted or one-sided market, like the next three. */
  readonly midPrice: number | null
  readonly premium: number | null
  readonly impactBid: number | null
  readonly impactAsk: number | null
  /** Running estimate of the next hourly rate, as a fraction. */
  readonly fundingRateHourly: number
  /** One-sided, in the coin's unit. */
  readonly openInterestBase: number
  /** Last 24 h, in the quote unit; USD by `usdOf`. */
  readonly dayNotional: number
  /** null for a coin listed within the last day. */
  readonly prevDayPrice: number | null
}

/** Frequent price update of the venue; unchanged fields are absent. */
export type MarkEvent = Stamped & {
  readonly kind: 'mark'
  readonly coin: string
  readonly markPrice?: number
  readonly midPrice?: number | null
}

/** State of the feed. After `down` data may be missing; `degraded`: the clock offset to the venue is too large. */
export type FeedStatusEvent = Stamped & {
  readonly kind: 'feed-status'
  readonly feed: 'venue'
  readonly state: 'up' | 'degraded' | 'down'
  readonly reason: string
  /** With `down`: coins whose candles and trades used the lost connection. */
  readonly coins: readonly string[]
}

/**
 * Trades between the two instants are permanently lost: the venue's replay did not reach the last known trade, or a
 * trade was invalid. Candles are repaired from history; sums of single trades are not.
 */
export type TradeGapEvent = Stamped & {
  readonly kind: 'trade-gap'
  readonly coin: string
  readonly fromMs: number
  readonly toMs: number
}

/**
 * One coin's channel stopped on a live connection (`silent`) or resumed (`heard`). In between only history confirms
 * its candles.
 */
export type SilenceEvent = Stamped & {
  readonly kind: 'silence'
  readonly coin: string
  readonly channel: SilentChannel
  readonly state: 'silent' | 'heard'
}

export type SilentChannel = 'book' | 'trades' | 'candle'

/** Past funding hours, from the venue or from history on disk. Ascending; both times are the time of reading. */
type FundingHistoryEvent = Stamped & {
  readonly kind: 'funding-history'
  readonly coin: string
  readonly rows: readonly FundingRow[]
  /** From history on disk. */
  readonly isRemembered?: true
}

/** Closed 1h bars, from the venue or from history on disk, which may have gaps. Ascending; both times are the time of reading. */
export type HourlyHistoryEvent = Stamped & {
  readonly kind: 'hourly-history'
  readonly coin: string
  readonly bars: readonly Bar[]
  /** Start of the request to the venue; absent for history on disk. */
  readonly fromMs?: number
  /** From history on disk. */
  readonly isRemembered?: true
}

/** Samples of a coin from history on disk, once at the start. Ascending. */
type SampleHistoryEvent = Stamped & {
  readonly kind: 'sample-history'
  readonly coin: string
  readonly samples: readonly MarketSample[]
}

/** Predicted next funding of one coin on the venue and on other exchanges. */
export type VenueFundingsEvent = Stamped & {
  readonly kind: 'venue-fundings'
  readonly coin: string
  readonly fundings: readonly VenueFunding[]
}

export type VenueFunding = {
  /** The venue's name of the exchange, such as `BinPerp`. */
  readonly venue: string
  /** As a fraction, for one interval of that exchange. */
  readonly rate: number
  readonly intervalHours: number
  readonly nextFundingMs: number
}

/** The venue's spot prices of possible collateral tokens. Replaces the previous list. */
export type CollateralPricesEvent = Stamped & {
  readonly kind: 'collateral-prices'
  readonly tokens: readonly TokenPrice[]
}

export type TokenPrice = {
  /** The venue's index of the spot token. */
  readonly token: number
  readonly name: string
  /** Mid price of its USDC pair; null without a reliable one. */
  readonly usdcPrice: number | null
  /** 24 h turnover of that pair, USDC; 0 without a pair. */
  readonly dayNotionalUsd: number
}

/** Position of one account in one coin, from the venue; replaces the previous one. */
export type AccountPositionEvent = Stamped & {
  readonly kind: 'account-position'
  readonly coin: string
  /** Address of the account, lower case. */
  readonly account: string
  /** Positive long, negative short, 0 for a closed position. */
  readonly sizeBase: number
  readonly entryPrice: number
  /** Leverage setting of the account. */
  readonly leverage: number
  /** From the venue; null if it gives none, for example for a fully covered position. */
  readonly liquidationPrice: number | null
}

export const liquidationMethods = ['market', 'backstop'] as const

/** On the book, or taken over by a liquidator vault of the venue. */
export type LiquidationMethod = (typeof liquidationMethods)[number]

/** A fill of an enforced liquidation, confirmed by its mark. The same fill may arrive several times. */
export type LiquidationEvent = Stamped & {
  readonly kind: 'liquidation'
  readonly coin: string
  /** Identifier of the trade, the same on both sides of it. */
  readonly tradeId: number
  /** Address of the liquidated account, lower case. */
  readonly account: string
  /** Side of the position that was closed. */
  readonly side: 'long' | 'short'
  readonly price: number
  readonly sizeBase: number
  /** Mark price at the liquidation. */
  readonly markPrice: number
  readonly method: LiquidationMethod
  /** A vendor reports it; a fill from the venue itself replaces it. */
  readonly isFromVendor?: true
}

/** The fills of one account in this time may be liquidations; by the venue's clock. */
export type FillsWindow = {
  readonly account: string
  readonly fromMs: number
  readonly untilMs: number
}

/** The fills of one account from `fromMs` to `untilMs` were read, and every liquidation among them was delivered. */
type FillsReadEvent = Stamped & FillsWindow & { readonly kind: 'fills-read' }

/** Liquidations of one coin between these instants may be missing, although a source of all liquidations covers them. */
type LiquidationGapEvent = Stamped & {
  readonly kind: 'liquidation-gap'
  readonly coin: string
  readonly fromMs: number
  readonly untilMs: number
}

/** Addresses of the venue's liquidator vaults, lower case. Replaces the previous list. */
type LiquidatorVaultsEvent = Stamped & {
  readonly kind: 'liquidator-vaults'
  readonly accounts: readonly string[]
}

/** A source of all liquidations of the venue missed none between these instants. */
type LiquidationFeedEvent = Stamped & {
  readonly kind: 'liquidation-feed'
  readonly fromMs: number
  readonly untilMs: number
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
  | LiquidationEvent
  | LiquidationGapEvent
  | MarketWideEvent

/** Venue events about no single coin that only trackers read. */
type MarketWideEvent = FillsReadEvent | LiquidatorVaultsEvent | LiquidationFeedEvent

export type MarketEvent = VenueEvent | ExternalEvent

/** Venue events about one coin. */
export type CoinEvent = Exclude<
  VenueEvent,
  { kind: 'universe' | 'feed-status' | 'collateral-prices' | MarketWideEvent['kind'] }
>

/** Whether such an event may be much older than those before it: the venue repeats trades, and replies show past fills. */
export function isOfThePast({ kind }: MarketEvent): boolean {
  switch (kind) {
    case 'trade':
    case 'trade-gap':
    case 'liquidation':
    // Not by the venue's clock.
    case 'liquidation-gap':
    case 'liquidation-feed':
      return true
    default:
      return false
  }
}

/** All events of one frame. */
export type Batch = readonly MarketEvent[]
