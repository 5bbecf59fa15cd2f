/** Which builder-deployed dexes (HIP-3) to follow: by their share of the venue, all, or those that are named. */
export type DexSelection = 'auto' | 'all' | readonly string[]

/** Why a builder-deployed dex is not followed. */
export const dexReasons = [
  'share_below_minimum',
  'collateral_unpriced',
  'no_live_coins',
  'subscription_budget',
  'weight_budget',
  'listing_budget',
  'no_reply',
  'not_selected',
] as const
export type DexReason = (typeof dexReasons)[number]

/** What is known of one builder-deployed dex, and whether its coins are served. */
export type DexStatus = {
  readonly name: string
  readonly fullName: string | null
  readonly isFollowed: boolean
  /** null where it is followed. */
  readonly reason: DexReason | null
  /** The larger of its shares of open interest and of 24 h volume; null where it was not measured. */
  readonly sharePct: number | null
  /** Name of its collateral token; null where it is unknown. */
  readonly quoteUnit: string | null
  /** Coins that trade there; null where its list was not received. */
  readonly coins: number | null
  /** Those of them for which no subscription was left. */
  readonly coinsLeftOut: number
  /** When it was judged last; null where it is not judged, but named. */
  readonly judgedAtMs: number | null
}
