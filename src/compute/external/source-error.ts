import type { OracleNetwork, OraclePriceEvent } from '../../domain/external.ts'

/**
 * Standard deviation of a Brownian motion that stayed within 1 of its start for long: its density tends to (pi / 4)
 * cos(pi x / 2), whose variance is 1 - 8 / pi^2.
 */
const STAYED_WITHIN = Math.sqrt(1 - 8 / Math.PI ** 2)
/** 95 % of normal errors are smaller. */
const BAND_DEVIATIONS = 2
const SECOND_MS = 1_000

/** Delay from a price move by the trigger to the update on chain, ms. */
const TRIGGER_DELAY_MS: Partial<Record<OracleNetwork, number>> = {
  // Pyth's price pusher polls every 5 s by default.
  'pyth-solana': 5_000,
  'pyth-evm': 5_000,
  // A round of observations, and one or two blocks of Ethereum.
  chainlink: 30_000,
}

/** Time since a source published, and the condition on which it publishes. */
export type SinceSource = {
  readonly ageMs: number
  /** Since it was last read: a later update is unknown. */
  readonly unreadMs: number
  /** Price move that makes the source publish; 0 for a source that publishes by time alone. */
  readonly triggerBps: number
  readonly delayMs: number
}

/** Trigger of a feed. RedStone publishes by time alone, so its resolution is no trigger. */
export function triggerOf({
  network,
  resolutionBps,
}: Pick<OraclePriceEvent, 'network' | 'resolutionBps'>): Pick<
  SinceSource,
  'triggerBps' | 'delayMs'
> {
  const delayMs = TRIGGER_DELAY_MS[network]
  return delayMs === undefined
    ? { triggerBps: 0, delayMs: 0 }
    : { triggerBps: resolutionBps, delayMs }
}

/**
 * Standard deviation of the price move since a source published, bps: drift times the root of the age. A source with a
 * trigger that has not published confirms that the price stayed within it until shortly before the last read.
 * @param driftBps standard deviation of the price over one second
 */
function movedBps(driftBps: number, since: SinceSource): number {
  const freeBps = driftBps * rootSeconds(since.ageMs)
  if (since.triggerBps === 0) return freeBps
  const lateBps = driftBps * rootSeconds(since.unreadMs + since.delayMs)
  return Math.min(freeBps, Math.hypot(STAYED_WITHIN * since.triggerBps, lateBps))
}

/** 95 % bound of that price move, bps; the trigger itself is a bound. */
export function movedBandBps(driftBps: number, since: SinceSource): number {
  const freeBps = BAND_DEVIATIONS * driftBps * rootSeconds(since.ageMs)
  if (since.triggerBps === 0) return freeBps
  const lateBps = BAND_DEVIATIONS * driftBps * rootSeconds(since.unreadMs + since.delayMs)
  return Math.min(freeBps, since.triggerBps + lateBps)
}

/** Standard deviation of a source's error now: its own uncertainty, and the price move since, bps. */
export function expectedErrorBps(ownBps: number, driftBps: number, since: SinceSource): number {
  return Math.hypot(ownBps, movedBps(driftBps, since))
}

function rootSeconds(ms: number): number {
  return Math.sqrt(Math.max(0, ms) / SECOND_MS)
}
