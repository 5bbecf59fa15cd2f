import type { ExchangeQuoteEvent, OraclePriceEvent, SourceId } from '../../domain/external.ts'
import type { ExternalState } from '../market/external-state.ts'
import { apartBps, median } from '../statistics/median.ts'
import { oracleAgeMsMax, publishedAtMs } from './oracle-age.ts'

export type Stablecoin = 'USDT' | 'USDC'

/** USD price of a stablecoin. */
export type StableUsd = {
  readonly priceUsd: number
  /** Confirmation time of the oldest vote, by our clock. */
  readonly asOfMs: number
  readonly ageMs: number
  /** Largest trigger of the feeds that voted, bps. */
  readonly resolutionBps: number
  readonly sources: readonly SourceId[]
}

/** Age limit of an exchange quote or stream: a stablecoin and its ticker change slowly. */
const OBSERVED_MS_MAX = 60_000
const SPREAD_BPS_MAX = 200
/** A vote further than this from most others is wrong. */
const AGREEMENT_BPS = 100
/** One against two is no majority, because two networks may copy each other. */
const WATCHING_LEAD_MIN = 2
/** A feed with a smaller trigger is a stream. */
const STREAM_RESOLUTION_BPS = 5

type Vote = Pick<StableUsd, 'priceUsd' | 'asOfMs' | 'resolutionBps'> & { readonly source: SourceId }

/**
 * Median of the sources that price the stablecoin in USD continuously: exchanges that trade it for USD, and networks
 * that stream its price. Push feeds vote where there is no such source, or no majority among them.
 * @returns null without a source, or without a majority
 */
export function stableUsd(
  stablecoin: Stablecoin,
  external: ExternalState,
  nowMs: number,
): StableUsd | null {
  const traded = external.quotesOf(stablecoin).flatMap((quote) => tradedVote(quote, nowMs))
  const feeds = onePerNetwork(
    external.oraclesOf(stablecoin).flatMap((feed) => feedVote(feed, nowMs)),
  )
  const isWatching = ({ resolutionBps, asOfMs }: Vote) =>
    resolutionBps <= STREAM_RESOLUTION_BPS && nowMs - asOfMs <= OBSERVED_MS_MAX
  const watching = [...traded, ...feeds.filter(isWatching)]
  const votes = hasMajority(watching, WATCHING_LEAD_MIN)
    ? watching
    : [...watching, ...feeds.filter((vote) => !isWatching(vote))]
  if (!hasMajority(votes, 1)) return null
  const asOfMs = Math.min(...votes.map((vote) => vote.asOfMs))
  return {
    priceUsd: median(votes.map(({ priceUsd }) => priceUsd)),
    asOfMs,
    ageMs: Math.max(0, nowMs - asOfMs),
    resolutionBps: Math.max(...votes.map(({ resolutionBps }) => resolutionBps)),
    sources: votes.map(({ source }) => source).toSorted(),
  }
}

/**
 * Whether all votes agree with the middle one, or a majority of `leadMin` does. Of an even number either of the middle
 * two counts, because their mean may be near no vote.
 */
function hasMajority(votes: readonly Vote[], leadMin: number): boolean {
  const ascending = votes.map(({ priceUsd }) => priceUsd).toSorted((a, b) => a - b)
  return middleOf(ascending).some((middleUsd) => {
    const near = ascending.filter((usd) => apartBps(usd, middleUsd) <= AGREEMENT_BPS).length
    return near === votes.length || 2 * near - votes.length >= leadMin
  })
}

function tradedVote(quote: ExchangeQuoteEvent, nowMs: number): Vote[] {
  const { exchange, bid, ask } = quote
  const asOfMs = Math.min(quote.timeExchangeMs, quote.timeReceivedMs)
  const priceUsd = (bid + ask) / 2
  const isSound = bid > 0 && ask >= bid && apartBps(ask, bid) <= SPREAD_BPS_MAX
  const isFresh = nowMs - asOfMs <= OBSERVED_MS_MAX
  if (quote.quote !== 'USD' || !isSound || !isFresh) return []
  return [{ priceUsd, asOfMs, resolutionBps: 0, source: exchange }]
}

function feedVote(feed: OraclePriceEvent, nowMs: number): Vote[] {
  const { network, priceUsd, resolutionBps } = feed
  const asOfMs = publishedAtMs(feed)
  if (!(priceUsd > 0) || nowMs - asOfMs > oracleAgeMsMax(feed)) return []
  return [{ priceUsd, asOfMs, resolutionBps, source: network }]
}

/**
 * Each network votes with the feed that has its median price, so that one feed that stopped or is wrong does not decide
 * for the others. Of two middle feeds the finer one votes, or of two as fine the younger one.
 */
function onePerNetwork(votes: readonly Vote[]): readonly Vote[] {
  const bySource = Map.groupBy(votes, ({ source }) => source)
  return Array.from(bySource.values(), (feeds) => {
    const ascending = feeds.toSorted((one, other) => one.priceUsd - other.priceUsd)
    const [one, other] = middleOf(ascending) as [Vote, Vote | undefined]
    if (other === undefined) return one
    const isOtherBetter =
      other.resolutionBps === one.resolutionBps
        ? other.asOfMs > one.asOfMs
        : other.resolutionBps < one.resolutionBps
    return isOtherBetter ? other : one
  })
}

/** The middle element, or the middle two of an even number. */
function middleOf<Item>(ascending: readonly Item[]): readonly Item[] {
  return ascending.slice((ascending.length - 1) >> 1, (ascending.length >> 1) + 1)
}
