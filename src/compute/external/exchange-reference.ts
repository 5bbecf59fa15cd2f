import type { ContextEvent } from '../../domain/event.ts'
import type { Exchange, ExchangeQuoteEvent } from '../../domain/external.ts'
import { COIN_AGE_MS_MAX } from '../market/cadence.ts'
import type { ExternalState } from '../market/external-state.ts'
import { apartBps, median } from '../statistics/median.ts'
import { stableUsd } from './stable-usd.ts'

/** Why a quote is shown but not used. */
export type ExchangeQuoteFault =
  | 'too_old'
  | 'crossed'
  | 'wide_spread'
  | 'no_usd_rate'
  | 'wrong_scale'
  | 'outlier'
  | 'same_exchange'

/** One exchange's quote of one unit of the asset, in USD. */
export type ExchangeLeg = {
  readonly exchange: Exchange
  readonly quote: ExchangeQuoteEvent['quote']
  /** USD price of the quote currency; NaN where unknown, and then all prices are NaN. */
  readonly usdPerQuote: number
  readonly bidUsd: number
  readonly askUsd: number
  readonly midUsd: number
  readonly spreadBps: number
  readonly bidSizeBase: number
  readonly askSizeBase: number
  readonly receivedAtMs: number
  readonly ageMs: number
  /** null for a quote that is used. */
  readonly fault: ExchangeQuoteFault | null
}

/** Consensus price of the exchanges. */
export type ExchangeReference = {
  /** Median of the used mids, one of each exchange. */
  readonly midUsd: number
  /** Median of the spreads. */
  readonly spreadBps: number
  /** Highest minus lowest mid, over the median. */
  readonly dispersionBps: number
  /** Receive time of the oldest used quote. */
  readonly asOfMs: number
  readonly ageMs: number
  readonly used: readonly ExchangeLeg[]
}

export type ExchangePrices = {
  /** null with fewer than two usable exchanges. */
  readonly reference: ExchangeReference | null
  /** All quotes, used or not, by exchange name. */
  readonly legs: readonly ExchangeLeg[]
}

export const EXCHANGES_MIN = 2
/** Limit of the age since receipt, and since quotation where the exchange states it. */
const QUOTE_MS_MAX = 5_000
const QUOTED_MS_MAX = 10_000
const SPREAD_BPS_MAX = 200
/** As a log difference: 3 %. */
const OUTLIER_BPS = 300
/** Two quotes this close confirm each other, however far the others are. */
const WITNESS_BPS = 100
/** As a log difference: a price further from the venue's is another asset, or has a wrong scale. */
const MAPPING_LN_MAX = 0.25

const QUOTE_ORDER = ['USD', 'USDT', 'USDC'] as const

/**
 * Prices of one unit of an asset in USD by exchanges: each quote judged, and the median of those that are used.
 * @param expectedUsd price by the venue's oracle, to detect a mix-up of assets; NaN without one
 */
export function exchangePrices(
  asset: string,
  external: ExternalState,
  expectedUsd: number,
  nowMs: number,
): ExchangePrices {
  const quotes = external.quotesOf(asset)
  if (quotes.length === 0) return { reference: null, legs: [] }
  const usdPer = {
    USD: 1,
    USDT: stableUsd('USDT', external, nowMs)?.priceUsd ?? Number.NaN,
    USDC: stableUsd('USDC', external, nowMs)?.priceUsd ?? Number.NaN,
  }
  const sorted = quotes.toSorted(inOrder)
  const judged = sorted.map((quote) => legOf(quote, usdPer[quote.quote], expectedUsd, nowMs))
  const legs = withoutOutliers(onePerExchange(judged))
  return { reference: referenceOf(legs, nowMs), legs }
}

/**
 * Price of one unit by the venue's oracle, which is a median of USDT prices. NaN for none, and for an old one: in a crash
 * it would exclude the correct prices of others.
 */
export function venueUsd(
  context: ContextEvent | null | undefined,
  scale: number,
  external: ExternalState,
  nowMs: number,
): number {
  if (context == null || nowMs - context.timeReceivedMs > COIN_AGE_MS_MAX) return Number.NaN
  return (context.oraclePrice / scale) * (stableUsd('USDT', external, nowMs)?.priceUsd ?? 1)
}

/** Whether two prices can be of one asset. True where one of them is unknown. */
export function isSameAsset(priceUsd: number, expectedUsd: number): boolean {
  return !(Math.abs(Math.log(priceUsd / expectedUsd)) > MAPPING_LN_MAX)
}

function inOrder(a: ExchangeQuoteEvent, b: ExchangeQuoteEvent): number {
  if (a.exchange !== b.exchange) return a.exchange < b.exchange ? -1 : 1
  return QUOTE_ORDER.indexOf(a.quote) - QUOTE_ORDER.indexOf(b.quote)
}

function legOf(
  event: ExchangeQuoteEvent,
  usdPerQuote: number,
  expectedUsd: number,
  nowMs: number,
): ExchangeLeg {
  const { exchange, quote, bid, ask, bidSizeBase, askSizeBase, timeReceivedMs } = event
  const mid = (bid + ask) / 2
  const leg = {
    exchange,
    quote,
    usdPerQuote,
    bidUsd: bid * usdPerQuote,
    askUsd: ask * usdPerQuote,
    midUsd: mid * usdPerQuote,
    spreadBps: ((ask - bid) / mid) * 10_000,
    bidSizeBase,
    askSizeBase,
    receivedAtMs: timeReceivedMs,
    ageMs: Math.max(0, nowMs - timeReceivedMs),
  }
  return { ...leg, fault: faultOf(leg, nowMs - event.timeExchangeMs, expectedUsd) }
}

function faultOf(
  { ageMs, bidUsd, askUsd, midUsd, usdPerQuote, spreadBps }: Omit<ExchangeLeg, 'fault'>,
  quotedAgeMs: number,
  expectedUsd: number,
): ExchangeQuoteFault | null {
  if (ageMs > QUOTE_MS_MAX || quotedAgeMs > QUOTED_MS_MAX) return 'too_old'
  if (Number.isNaN(usdPerQuote)) return 'no_usd_rate'
  if (!(bidUsd > 0 && askUsd >= bidUsd && askUsd < Number.POSITIVE_INFINITY)) return 'crossed'
  if (spreadBps > SPREAD_BPS_MAX) return 'wide_spread'
  return isSameAsset(midUsd, expectedUsd) ? null : 'wrong_scale'
}

/** Uses one quote of each exchange, in USD if possible. */
function onePerExchange(legs: readonly ExchangeLeg[]): readonly ExchangeLeg[] {
  const used = new Set<Exchange>()
  return legs.map((leg) => {
    if (leg.fault !== null) return leg
    if (used.has(leg.exchange)) return { ...leg, fault: 'same_exchange' }
    used.add(leg.exchange)
    return leg
  })
}

/** Judges each quote against the others: of only two that differ, both are outliers. */
function withoutOutliers(legs: readonly ExchangeLeg[]): readonly ExchangeLeg[] {
  const standing = legs.filter((leg) => leg.fault === null)
  return legs.map((leg) => {
    if (leg.fault !== null || standing.length === 1) return leg
    const others = standing.filter((other) => other !== leg).map(({ midUsd }) => midUsd)
    const isFar = apartBps(leg.midUsd, median(others)) > OUTLIER_BPS
    const hasWitness = others.some((midUsd) => apartBps(leg.midUsd, midUsd) <= WITNESS_BPS)
    return isFar && !hasWitness ? { ...leg, fault: 'outlier' } : leg
  })
}

function referenceOf(legs: readonly ExchangeLeg[], nowMs: number): ExchangeReference | null {
  const used = legs.filter((leg) => leg.fault === null)
  if (used.length < EXCHANGES_MIN) return null
  const mids = used.map(({ midUsd }) => midUsd)
  const midUsd = median(mids)
  const asOfMs = Math.min(...used.map(({ receivedAtMs }) => receivedAtMs))
  return {
    midUsd,
    spreadBps: median(used.map(({ spreadBps }) => spreadBps)),
    dispersionBps: ((Math.max(...mids) - Math.min(...mids)) / midUsd) * 10_000,
    asOfMs,
    ageMs: Math.max(0, nowMs - asOfMs),
    used,
  }
}
