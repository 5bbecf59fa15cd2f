import type { OraclePriceEvent } from '../../../domain/external.ts'
import { STABLE_DRIFT_BPS } from '../../volatility/drift.ts'
import { oracleAgeMsMax, publishedAtMs } from '../oracle-age.ts'
import { oracleErrorBps } from '../oracle-reading.ts'
import { movedBandBps, triggerOf } from '../source-error.ts'
import { EQUAL_ERROR_TIMES } from './peg-price.ts'
import type { UnweightedPegSource } from './peg-source.ts'
import { faultOfPrice } from './peg-source.ts'

/** Oracle feeds of a stablecoin. Of one provider those with the smallest expected error are used. */
export function feedSources(
  feeds: readonly OraclePriceEvent[],
  nowMs: number,
): readonly UnweightedPegSource[] {
  const sources = feeds.map((feed) => feedSource(feed, feeds, nowMs))
  return sources.map((source) => {
    const isOutdone = sources.some(
      (other) =>
        other.provider === source.provider && other.fault === null && isNearer(other, source),
    )
    return isOutdone ? { ...source, fault: source.fault ?? 'finer_feed_used' } : source
  })
}

export function feedId({ network, place }: OraclePriceEvent): string {
  return place === '' ? network : `${network}:${place}`
}

function feedSource(
  feed: OraclePriceEvent,
  feeds: readonly OraclePriceEvent[],
  nowMs: number,
): UnweightedPegSource {
  const { network, priceUsd, confidenceUsd, resolutionBps, heartbeatMs } = feed
  const confirmedAtMs = publishedAtMs(feed)
  const ageMsMax = oracleAgeMsMax(feed)
  const since = {
    ageMs: Math.max(0, nowMs - confirmedAtMs),
    unreadMs: Math.max(0, nowMs - feed.timeReceivedMs),
    ...triggerOf(feed),
  }
  return {
    id: feedId(feed),
    class: 'oracle',
    // The feeds of Pyth on chains repeat its stream.
    provider: network.startsWith('pyth') ? 'pyth' : network,
    priceUsd,
    confidenceBps: confidenceUsd === null ? null : (confidenceUsd / priceUsd) * 10_000,
    resolutionBps,
    unseenBps: Math.min(resolutionBps, movedBandBps(STABLE_DRIFT_BPS, since)),
    expectedErrorBps: oracleErrorBps(feed, feeds, { nowMs, driftBps: STABLE_DRIFT_BPS }),
    confirmedAtMs,
    receivedAtMs: feed.timeReceivedMs,
    cadenceMs: heartbeatMs,
    ageMsMax,
    fault: faultOfPrice(priceUsd) ?? (nowMs - confirmedAtMs > ageMsMax ? 'too_old' : null),
  }
}

/** Feeds of one resolution are equal; where errors are nearly equal, the finer feed is nearer. */
function isNearer(one: UnweightedPegSource, other: UnweightedPegSource): boolean {
  const [error, otherError] = [one.expectedErrorBps ?? 0, other.expectedErrorBps ?? 0]
  if (one.resolutionBps === other.resolutionBps) return false
  const isEqual = Math.max(error, otherError) <= EQUAL_ERROR_TIMES * Math.min(error, otherError)
  return isEqual ? one.resolutionBps < other.resolutionBps : error < otherError
}
