import type { DexReason } from '../../../domain/dex.ts'

/** Share of the venue's open interest or 24 h volume from which a dex is followed. */
export const DEX_SHARE_MIN = 0.01
/** A followed dex stays until both shares are below this, so that it does not change daily. */
export const DEX_SHARE_KEPT = DEX_SHARE_MIN / 2

/** Sums over the live coins of one dex, in its collateral. */
export type DexFigures = {
  readonly openInterest: number
  readonly dayNotional: number
  readonly liveCoins: number
  /** Rows of its universe, delisted coins included. */
  readonly listedCoins: number
  /** USD per unit of its collateral; NaN if unknown. */
  readonly usdPerUnit: number
}

/** Capacity for builder-deployed dexes, in coins. */
export type DexRoom = {
  /** By the subscription limit. */
  readonly bySubscriptions: number
  /** By the REST weight that each coin needs. */
  readonly byWeight: number
  /** By the engine's limit of listings. */
  readonly byListings: number
}

export type DexVerdict = {
  readonly name: string
  /** null: the dex is followed. */
  readonly reason: DexReason | null
  /** As a fraction; null if unknown. */
  readonly share: number | null
}

/**
 * Chooses the dexes with a sufficient share of the venue, the largest first, while there is capacity for any of their
 * coins.
 * @param main figures of the main dex
 * @param dexes null: unknown figures
 */
export function chosenDexes(
  main: DexFigures,
  dexes: ReadonlyMap<string, DexFigures | null>,
  followed: ReadonlySet<string>,
  room: DexRoom,
): readonly DexVerdict[] {
  const shares = sharesOf(main, dexes)
  const shareOf = (name: string) => shares.get(name) ?? null
  const ranked = [...dexes].toSorted(
    ([one], [other]) => (shareOf(other) ?? -1) - (shareOf(one) ?? -1),
  )
  const left = { ...room }
  return ranked.map(([name, figures]) => {
    const share = shareOf(name)
    const reason = reasonAgainst(figures, share, followed.has(name), left)
    if (reason === null && figures !== null) {
      left.bySubscriptions -= figures.liveCoins
      left.byWeight -= figures.liveCoins
      left.byListings -= figures.listedCoins
    }
    return { name, reason, share }
  })
}

function reasonAgainst(
  figures: DexFigures | null,
  share: number | null,
  isFollowed: boolean,
  left: DexRoom,
): DexReason | null {
  // A followed dex stays while its figures are unknown.
  if (figures === null) return isFollowed ? null : 'no_reply'
  if (figures.liveCoins === 0) return 'no_live_coins'
  if (share === null) return isFollowed ? null : 'collateral_unpriced'
  if (share < (isFollowed ? DEX_SHARE_KEPT : DEX_SHARE_MIN)) return 'share_below_minimum'
  if (left.bySubscriptions <= 0) return 'subscription_budget'
  if (left.byWeight <= 0) return 'weight_budget'
  return figures.listedCoins > left.byListings ? 'listing_budget' : null
}

/** The larger of both shares per dex. A dex without a collateral price is in no sum. */
function sharesOf(
  main: DexFigures,
  dexes: ReadonlyMap<string, DexFigures | null>,
): ReadonlyMap<string, number> {
  const priced = [...dexes].flatMap(([name, figures]) =>
    figures === null || Number.isNaN(figures.usdPerUnit) ? [] : [[name, figures] as const],
  )
  const sumOf = (usdOf: (figures: DexFigures) => number) =>
    priced.reduce((sum, [, figures]) => sum + usdOf(figures), usdOf(main))
  const interestUsd = (figures: DexFigures) => figures.openInterest * figures.usdPerUnit
  const volumeUsd = (figures: DexFigures) => figures.dayNotional * figures.usdPerUnit
  const share = (part: number, whole: number) => (whole > 0 ? part / whole : 0)
  return new Map(
    priced.map(([name, figures]) => [
      name,
      Math.max(
        share(interestUsd(figures), sumOf(interestUsd)),
        share(volumeUsd(figures), sumOf(volumeUsd)),
      ),
    ]),
  )
}
