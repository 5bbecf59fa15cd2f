import type { ContextEvent } from '../../domain/event.ts'

/** The venue's own perpetuals and builder-deployed ones (HIP-3) have different formulas. */
type DexKind = 'main' | 'builder'

/** The name of a builder's coin begins with its dex and a colon. */
export function dexKindOf(coin: string): DexKind {
  return coin.includes(':') ? 'builder' : 'main'
}

/**
 * Premium of the perpetual over its oracle price, as a fraction, from impact prices (venue docs, Funding; HIP-3
 * deployer actions).
 * @returns null without impact prices
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
