import type { Listing } from '../../domain/listing.ts'
import { singleMarginTier } from '../../domain/listing.ts'
import { freshLiquidationPrice, maintenanceBrackets } from './margin.ts'

export type Side = 'long' | 'short'

/** Leverage tiers of the published map. */
const LEVERAGES = [3, 5, 10, 25, 50] as const

export const TIER_COUNT = LEVERAGES.length

/** Assumed share of new positions in each tier, published with every answer. */
const PRIOR_SHARES = [0.15, 0.25, 0.3, 0.2, 0.1] as const

export type LeverageTier = {
  readonly leverage: number
  /** Whether the coin allows this leverage. */
  readonly isPermitted: boolean
  /** Share of new positions, 0 to 1; the sum is 1 unless no tier is permitted. */
  readonly share: number
  /** Preference of takers for this tier, -1 to 1; the share-weighted mean is 0. */
  readonly preference: number
  /** Liquidation price over entry price. */
  readonly longFactor: number
  readonly shortFactor: number
}

/**
 * Tiers of a coin by its margin terms. A tier above its maximum leverage is empty: its share goes to the highest
 * permitted one, and its price is that of a coin which would allow it.
 */
export function leverageLadder({ maxLeverage, marginTiers }: Listing): readonly LeverageTier[] {
  const permitted = LEVERAGES.filter((leverage) => leverage <= maxLeverage).length
  const shares = LEVERAGES.map((_, at) => {
    if (at >= permitted) return 0
    const folded = at === permitted - 1 ? PRIOR_SHARES.slice(permitted) : []
    return folded.reduce<number>((sum, share) => sum + share, PRIOR_SHARES[at] ?? 0)
  })
  const preferences = preferencesOf(shares)
  return LEVERAGES.map((leverage, at) => {
    const isPermitted = at < permitted
    // A typical position is in the first tier of the margin table.
    const terms = isPermitted ? marginTiers.slice(0, 1) : singleMarginTier(leverage)
    const brackets = maintenanceBrackets(terms.length === 0 ? singleMarginTier(maxLeverage) : terms)
    const priceOf = (sizeBase: number) =>
      freshLiquidationPrice({ sizeBase, entryPrice: 1, leverage }, brackets) ?? Number.NaN
    return {
      leverage,
      isPermitted,
      share: shares[at] ?? 0,
      preference: preferences[at] ?? 0,
      longFactor: priceOf(1),
      shortFactor: priceOf(-1),
    }
  })
}

/** Tier of a position: the nearest permitted one, as a ratio; -1 below the lowest tier. */
export function tierOf(leverage: number, ladder: readonly LeverageTier[]): number {
  let nearest = -1
  let nearestDistance = Number.POSITIVE_INFINITY
  if (leverage < LEVERAGES[0]) return nearest
  for (const [at, tier] of ladder.entries()) {
    const distance = Math.abs(Math.log(tier.leverage / leverage))
    if (!tier.isPermitted || !(distance < nearestDistance)) continue
    nearest = at
    nearestDistance = distance
  }
  return nearest
}

/**
 * Preference by log leverage. The tilt share x (1 + tilt x preference) keeps the sum, and the highest tier belongs to
 * takers alone when all trades have one side.
 */
function preferencesOf(shares: readonly number[]): readonly number[] {
  const scores = LEVERAGES.map((leverage) => Math.log(leverage))
  const mean = scores.reduce((sum, score, at) => sum + score * (shares[at] ?? 0), 0)
  const held = scores.map((score, at) => ((shares[at] ?? 0) > 0 ? score - mean : 0))
  const largest = Math.max(...held.map(Math.abs))
  // A single tier has no preference, only a rounding error.
  const isChoice = shares.filter((share) => share > 0).length > 1
  return held.map((distance) => (isChoice ? distance / largest : 0))
}
