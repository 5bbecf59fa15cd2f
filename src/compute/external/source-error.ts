import type { OracleNetwork, OraclePriceEvent } from '../../domain/external.ts'

/**
 * Deviation of a Brownian motion that stayed within 1 of its start for long: its density tends to
 * (pi / 4) cos(pi x / 2), whose variance is 1 - 8 / pi^2.
 */
const STAYED_WITHIN = Math.sqrt(1 - 8 / Math.PI ** 2)
/** A normal error is farther away than this in one of twenty cases. */
const BAND_DEVIATIONS = 2
const SECOND_MS = 1_000

/** How long an update takes to be on the chain after the price moved by its trigger, ms. */
const TRIGGER_DELAY_MS: Partial<Record<OracleNetwork, number>> = {
  // Pyth's price pusher looks every 5 s by default.
  'pyth-solana': 5_000,
  'pyth-evm': 5_000,
  // A round of observations, and a block or two of Ethereum.
  chainlink: 30_000,
}

/** What is known of the time since a source published, and of what it would have published. */
export type SinceSource = {
  readonly ageMs: number
  /** Since it was read last: an update after that is unknown. */
  readonly unreadMs: number
  /** A move of this size would have been published; 0 for a source that publishes by time alone. */
  readonly triggerBps: number
  readonly delayMs: number
}

/** Resolution as a trigger: RedStone signs by time alone, its resolution holds nothing back. */
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
 * One deviation of what the price moved since a source published, bps: drift x root of the age. A source with
 * a trigger that has not published since confirms that the price stayed within it until shortly before it was read.
 * @param driftBps one deviation of the price in one second
 */
function movedBps(driftBps: number, since: SinceSource): number {
  const freeBps = driftBps * rootSeconds(since.ageMs)
  if (since.triggerBps === 0) return freeBps
  const lateBps = driftBps * rootSeconds(since.unreadMs + since.delayMs)
  return Math.min(freeBps, Math.hypot(STAYED_WITHIN * since.triggerBps, lateBps))
}

/** What the price moved less than in nineteen of twenty cases, bps; the trigger itself is a bound. */
export function movedBandBps(driftBps: number, since: SinceSource): number {
  const freeBps = BAND_DEVIATIONS * driftBps * rootSeconds(since.ageMs)
  if (since.triggerBps === 0) return freeBps
  const lateBps = BAND_DEVIATIONS * driftBps * rootSeconds(since.unreadMs + since.delayMs)
  return Math.min(freeBps, since.triggerBps + lateBps)
}

/** One deviation of a source's error now: how sure it was, and what the price moved since, bps. */
export function expectedErrorBps(ownBps: number, driftBps: number, since: SinceSource): number {
  return Math.hypot(ownBps, movedBps(driftBps, since))
}

function rootSeconds(ms: number): number {
  return Math.sqrt(Math.max(0, ms) / SECOND_MS)
}
