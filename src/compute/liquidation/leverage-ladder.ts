import type { Listing } from '../../domain/listing.ts'
import { singleMarginTier } from '../../domain/listing.ts'
import { freshLiquidationPrice, maintenanceBrackets } from './margin.ts'

export type Side = 'long' | 'short'

/** The tiers that the specification names. */
const LEVERAGES = [3, 5, 10, 25, 50] as const

export const TIER_COUNT = LEVERAGES.length

/** Which share of new exposure is taken at each of them; an assumption, published with every answer. */
const PRIOR_SHARES = [0.15, 0.25, 0.3, 0.2, 0.1] as const

export type LeverageTier = {
  readonly leverage: number
  /** Whether the coin allows so much. */
  readonly isPermitted: boolean
  /** Share of new exposure, 0 to 1; they add up to 1 unless no tier is permitted. */
  readonly share: number
  /** How much the aggressor prefers this tier, -1 to 1; the share-weighted mean is 0. */
  readonly preference: number
  /** Liquidation price over entry price. */
  readonly longFactor: number
  readonly shortFactor: number
}

/**
 * What a coin's margin terms make of the five tiers. A tier above its maximum holds nothing: its share
 * goes to the highest permitted one, and its price is that of a coin which would allow it.
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
    // Of a typical position, which lies in the first tier of its table.
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

/** The tier of a position: the nearest permitted one, as a ratio; -1 for less leverage than the lowest tier. */
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
 * Of log leverage, so that the tilt share x (1 + tilt x preference) neither creates nor loses exposure,
 * and the most leveraged tier belongs to the aggressor alone when nobody takes the other side.
 */
function preferencesOf(shares: readonly number[]): readonly number[] {
  const scores = LEVERAGES.map((leverage) => Math.log(leverage))
  const mean = scores.reduce((sum, score, at) => sum + score * (shares[at] ?? 0), 0)
  const held = scores.map((score, at) => ((shares[at] ?? 0) > 0 ? score - mean : 0))
  const largest = Math.max(...held.map(Math.abs))
  // With a single tier there is nothing to prefer, and what is left is rounding.
  const isChoice = shares.filter((share) => share > 0).length > 1
  return held.map((distance) => (isChoice ? distance / largest : 0))
}
