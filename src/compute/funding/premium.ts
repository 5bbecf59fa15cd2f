import type { ContextEvent } from '../../domain/event.ts'

/** The venue's own perpetuals, and those that somebody deployed (HIP-3), have a formula each. */
type DexKind = 'main' | 'builder'

/** A builder's coins carry the name of their dex before a colon. */
export function dexKindOf(coin: string): DexKind {
  return coin.includes(':') ? 'builder' : 'main'
}

/**
 * How far the perpetual trades from its oracle, as a fraction, by the venue's impact prices (venue docs,
 * Funding; HIP-3 deployer actions).
 * @returns null where the venue has no impact prices
 */
export function fundingPremium(
  { impactBid, impactAsk, oraclePrice }: ContextEvent,
  dexKind: DexKind,
): number | null {
  if (impactBid === null || impactAsk === null) return null
  if (dexKind === 'builder') return (0.5 * (impactBid + impactAsk)) / oraclePrice - 1
  const above = Math.max(impactBid - oraclePrice, 0)
  const below = Math.max(oraclePrice - impactAsk, 0)
  return (above - below) / oraclePrice
}
