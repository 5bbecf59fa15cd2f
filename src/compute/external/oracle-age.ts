import type { OraclePriceEvent } from '../../domain/external.ts'

const CHAINLINK_GRACE_MS = 2 * 3_600_000
/** How old a price of a streaming feed may be where no other source is better. */
const STREAM_MS_MAX = 120_000
/** A stream that was silent for less may be on its way. */
const LATE_MS_MIN = 10_000
/** So long before its limit a feed is late: an answer is rendered every two seconds, and has to be another's by then. */
const HANDOVER_MS = 3_000

/** When the network stood by this price, by our clock: what is stamped in the future was said when it came. */
export function publishedAtMs({ timeExchangeMs, timeReceivedMs }: OraclePriceEvent): number {
  return Math.min(timeExchangeMs, timeReceivedMs)
}

/** The age beyond which a healthy feed would have published again: another network is asked then. */
export function oracleLateMs(feed: Pick<OraclePriceEvent, 'network' | 'heartbeatMs'>): number {
  return Math.min(Math.max(LATE_MS_MIN, heartbeatLimitMs(feed)), oracleHandoverMs(feed))
}

/** The age beyond which it is believed only where nobody else is left, because it is about to be too old. */
export function oracleHandoverMs(feed: Pick<OraclePriceEvent, 'network' | 'heartbeatMs'>): number {
  return oracleAgeMsMax(feed) - HANDOVER_MS
}

/** The age beyond which no answer may rest on it. */
export function oracleAgeMsMax(feed: Pick<OraclePriceEvent, 'network' | 'heartbeatMs'>): number {
  return Math.max(STREAM_MS_MAX, heartbeatLimitMs(feed))
}

/** Twice the feed's own heartbeat; the nodes of Chainlink take their time after theirs. */
function heartbeatLimitMs({
  network,
  heartbeatMs,
}: Pick<OraclePriceEvent, 'network' | 'heartbeatMs'>): number {
  return network === 'chainlink' ? heartbeatMs + CHAINLINK_GRACE_MS : 2 * heartbeatMs
}
