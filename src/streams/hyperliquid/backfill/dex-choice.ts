import type { DexReason } from '../../../domain/dex.ts'

/** A dex is followed from this share of the venue's open interest or 24 h volume on ... */
export const DEX_SHARE_MIN = 0.01
/** ... and until both are below this one: a dex near the limit does not come and go every day. */
export const DEX_SHARE_KEPT = DEX_SHARE_MIN / 2

/** Summed over the coins that trade on one dex, in its collateral. */
export type DexFigures = {
  readonly openInterest: number
  readonly dayNotional: number
  readonly liveCoins: number
  /** Places of its universe, delisted coins included. */
  readonly listedCoins: number
  /** USD for a unit of its collateral; NaN where no source says. */
  readonly usdPerUnit: number
}

/** What is still free for builder-deployed dexes, as a number of coins. */
export type DexRoom = {
  /** By the venue's subscriptions for one address. */
  readonly bySubscriptions: number
  /** By the REST weight that coins need all the time. */
  readonly byWeight: number
  /** By the places that the engine has for listings. */
  readonly byListings: number
}

export type DexVerdict = {
  readonly name: string
  /** null: to be followed. */
  readonly reason: DexReason | null
  /** As a fraction; null where it is unknown. */
  readonly share: number | null
}

/**
 * Which dexes are worth following: those with a share of the venue, the largest first, as long as there is room for
 * any of their coins. Of one that has more coins than there is room for, the most traded ones are followed.
 * @param main of the venue's own dex
 * @param dexes null for one whose figures are not known
 * @param followed now
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
  // What is followed stays while nothing is known against it.
  if (figures === null) return isFollowed ? null : 'no_reply'
  if (figures.liveCoins === 0) return 'no_live_coins'
  if (share === null) return isFollowed ? null : 'collateral_unpriced'
  if (share < (isFollowed ? DEX_SHARE_KEPT : DEX_SHARE_MIN)) return 'share_below_minimum'
  if (left.bySubscriptions <= 0) return 'subscription_budget'
  if (left.byWeight <= 0) return 'weight_budget'
  return figures.listedCoins > left.byListings ? 'listing_budget' : null
}

/** The larger of both shares, by dex. One whose unit has no price in USD is in no sum. */
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
