import type { ContextEvent } from '../../domain/event.ts'

/** The venue's own perpetuals, and those that somebody deployed (HIP-3), have a formula each. */
type DexKind = 'main' | 'builder'

const HOURS_A_FUNDING_PERIOD = 8
const INTEREST_RATE = 0.0001
const CLAMP = 0.0005
const RATE_MAX_HOURLY = 0.04

/** A builder's coins carry the name of their dex before a colon. */
export function dexKindOf(coin: string): DexKind {
  return coin.includes(':') ? 'builder' : 'main'
}

/**
 * How far the perpetual trades from its oracle, as a fraction, by the venue's impact prices (venue docs,
 * Funding; HIP-3 deployer actions).
 * @returns null where the venue has no impact prices
 */
export function premiumOf(
  { impactBid, impactAsk, oraclePrice }: ContextEvent,
  dexKind: DexKind,
): number | null {
  if (impactBid === null || impactAsk === null) return null
  if (dexKind === 'builder') return (0.5 * (impactBid + impactAsk)) / oraclePrice - 1
  const above = Math.max(impactBid - oraclePrice, 0)
  const below = Math.max(oraclePrice - impactAsk, 0)
  return (above - below) / oraclePrice
}

/**
 * The hourly rate that the venue's formula gives for an hour of this premium (venue docs, Funding): an
 * eighth of premium plus clamped interest. It holds on the main dex; a builder sets interest, clamp and
 * multiplier of each coin, which the venue does not tell with the figures.
 */
export function impliedRateHourly(premium: number): number {
  const interest = Math.min(CLAMP, Math.max(-CLAMP, INTEREST_RATE - premium))
  const rate = (premium + interest) / HOURS_A_FUNDING_PERIOD
  return Math.min(RATE_MAX_HOURLY, Math.max(-RATE_MAX_HOURLY, rate))
}
