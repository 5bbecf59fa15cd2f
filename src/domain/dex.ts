/** Builder-deployed dexes (HIP-3) to follow: by share of the venue, all, or by name. */
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

/** State of one builder-deployed dex. */
export type DexStatus = {
  readonly name: string
  readonly fullName: string | null
  readonly isFollowed: boolean
  /** null if it is followed. */
  readonly reason: DexReason | null
  /** Share of open interest or 24 h volume, whichever is larger; null if not measured. */
  readonly sharePct: number | null
  /** Collateral token; null if unknown. */
  readonly quoteUnit: string | null
  /** Number of trading coins; null if its list was not received. */
  readonly coins: number | null
  /** Trading coins without a subscription, for lack of budget. */
  readonly coinsLeftOut: number
  /** Last share measurement; null for a dex that is followed by name. */
  readonly judgedAtMs: number | null
}
