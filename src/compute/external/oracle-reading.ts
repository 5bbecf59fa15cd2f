import type { OracleNetwork, OraclePriceEvent } from '../../domain/external.ts'
import { oracleAgeMsMax, oracleLateMs, publishedAtMs } from './oracle-age.ts'
import { expectedErrorBps, triggerOf } from './source-error.ts'

/** One network's price of an asset: that of its feed with the smallest expected error. */
export type OracleReading = Omit<OraclePriceEvent, 'kind' | 'timeExchangeMs' | 'timeReceivedMs'> & {
  readonly confidenceBps: number | null
  /** Publication time, by our clock. */
  readonly publishedAtMs: number
  /** Last time the feed was read, changed or not. */
  readonly receivedAtMs: number
  readonly ageMs: number
  /** No answer uses an older price. */
  readonly ageMsMax: number
  /** Standard deviation of its error now, bps. */
  readonly expectedErrorBps: number
}

type ErrorEvidence = {
  readonly nowMs: number
  /** Standard deviation of the asset's price over one second, bps. */
  readonly driftBps: number
}

/** Order in which networks are listed; it decides only between equal expected errors. */
const ORDER = [
  'pyth-hermes',
  'pyth-solana',
  'pyth-evm',
  'redstone',
  'chainlink',
] as const satisfies OracleNetwork[]

/** Assumed confidence of a network that states none: what Pyth states for BTC. */
const UNSTATED_BPS = 5
/**
 * Pyth's confidence measures how far the markets of its publishers are apart. The nodes of RedStone run one program, and
 * Chainlink states none, so their confidence cannot be smaller than that.
 */
const MEASURES_MARKETS: ReadonlySet<OracleNetwork> = new Set([
  'pyth-hermes',
  'pyth-solana',
  'pyth-evm',
])

/** One reading of each network, in a fixed order. */
export function oracleReadings(
  feeds: readonly OraclePriceEvent[],
  evidence: ErrorEvidence,
): readonly OracleReading[] {
  const marketBps = marketBpsOf(feeds, evidence.nowMs)
  return ORDER.flatMap((network) => {
    const [first, ...others] = feeds
      .filter((feed) => feed.network === network)
      .map((feed) => readingOf(feed, marketBps, evidence))
    if (first === undefined) return []
    return [others.reduce((best, other) => (isBetter(other, best) ? other : best), first)]
  })
}

/** Standard deviation of the error of one feed now, bps. @param feeds all feeds of the asset */
export function oracleErrorBps(
  feed: OraclePriceEvent,
  feeds: readonly OraclePriceEvent[],
  evidence: ErrorEvidence,
): number {
  return readingOf(feed, marketBpsOf(feeds, evidence.nowMs), evidence).expectedErrorBps
}

/** Lower bound of every network's error: the smallest measured distance between the markets. 0 without one. */
function marketBpsOf(feeds: readonly OraclePriceEvent[], nowMs: number): number {
  const stated = feeds.flatMap((feed) => {
    const isLate = nowMs - publishedAtMs(feed) > oracleLateMs(feed)
    const confidenceBps = confidenceBpsOf(feed)
    return MEASURES_MARKETS.has(feed.network) && !isLate && confidenceBps !== null
      ? [confidenceBps]
      : []
  })
  return stated.length === 0 ? 0 : Math.min(...stated)
}

/** Punctual before late, then the smaller expected error, then the younger. */
function isBetter(one: OracleReading, other: OracleReading): boolean {
  const isLate = (reading: OracleReading) => reading.ageMs > oracleLateMs(reading)
  if (isLate(one) !== isLate(other)) return isLate(other)
  if (one.expectedErrorBps !== other.expectedErrorBps)
    return one.expectedErrorBps < other.expectedErrorBps
  return one.publishedAtMs > other.publishedAtMs
}

function readingOf(
  feed: OraclePriceEvent,
  marketBps: number,
  { nowMs, driftBps }: ErrorEvidence,
): OracleReading {
  const { network, place, asset, priceUsd, confidenceUsd, ema, resolutionBps, heartbeatMs } = feed
  const atMs = publishedAtMs(feed)
  const ageMs = Math.max(0, nowMs - atMs)
  const confidenceBps = confidenceBpsOf(feed)
  const statedBps = confidenceBps ?? UNSTATED_BPS
  const ownBps = MEASURES_MARKETS.has(network) ? statedBps : Math.max(statedBps, marketBps)
  const unreadMs = Math.max(0, nowMs - feed.timeReceivedMs)
  return {
    network,
    place,
    asset,
    priceUsd,
    confidenceUsd,
    confidenceBps,
    ema,
    resolutionBps,
    heartbeatMs,
    publishedAtMs: atMs,
    receivedAtMs: feed.timeReceivedMs,
    ageMs,
    ageMsMax: oracleAgeMsMax(feed),
    expectedErrorBps: expectedErrorBps(ownBps, driftBps, { ageMs, unreadMs, ...triggerOf(feed) }),
  }
}

function confidenceBpsOf({ confidenceUsd, priceUsd }: OraclePriceEvent): number | null {
  return confidenceUsd === null ? null : (confidenceUsd / priceUsd) * 10_000
}
