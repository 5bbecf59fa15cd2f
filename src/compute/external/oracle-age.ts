import type { OraclePriceEvent } from '../../domain/external.ts'

const CHAINLINK_GRACE_MS = 2 * 3_600_000
/** Age limit of a streaming feed. */
const STREAM_MS_MAX = 120_000
/** A shorter silence of a stream is normal. */
const LATE_MS_MIN = 10_000
/**
 * A feed is late this long before its limit: answers are rendered every two seconds and must use another feed by then.
 */
const HANDOVER_MS = 3_000

/** Publication time by our clock; the receive time for a time in the future. */
export function publishedAtMs({ timeExchangeMs, timeReceivedMs }: OraclePriceEvent): number {
  return Math.min(timeExchangeMs, timeReceivedMs)
}

/** A healthy feed publishes before this age: afterwards another network is used. */
export function oracleLateMs(feed: Pick<OraclePriceEvent, 'network' | 'heartbeatMs'>): number {
  return Math.min(Math.max(LATE_MS_MIN, heartbeatLimitMs(feed)), oracleHandoverMs(feed))
}

/** Beyond this age the feed is used only if no other is left, because it is about to be too old. */
export function oracleHandoverMs(feed: Pick<OraclePriceEvent, 'network' | 'heartbeatMs'>): number {
  return oracleAgeMsMax(feed) - HANDOVER_MS
}

/** No answer uses an older price. */
export function oracleAgeMsMax(feed: Pick<OraclePriceEvent, 'network' | 'heartbeatMs'>): number {
  return Math.max(STREAM_MS_MAX, heartbeatLimitMs(feed))
}

/** Twice the heartbeat; Chainlink's nodes publish up to two hours after theirs. */
function heartbeatLimitMs({
  network,
  heartbeatMs,
}: Pick<OraclePriceEvent, 'network' | 'heartbeatMs'>): number {
  return network === 'chainlink' ? heartbeatMs + CHAINLINK_GRACE_MS : 2 * heartbeatMs
}
