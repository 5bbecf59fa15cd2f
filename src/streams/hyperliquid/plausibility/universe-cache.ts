import type { Listing } from '../../../domain/listing.ts'
import { LISTINGS_MAX, USDC_TOKEN } from '../../../domain/listing.ts'
import type { Rejected } from '../wire/rejection.ts'
import { rejected } from '../wire/rejection.ts'
import type { Universe } from '../wire/universe.ts'
import { dexOf, isContinued, isSameListing, MAIN_DEX } from '../wire/universe.ts'

/**
 * The venue only appends coins. Removing a coin deletes its history, so a universe without a known coin, or with a
 * delisted or renamed one, needs this many equal replies.
 */
const REMOVING_REPLIES_MIN = 3

/** Replies that confirm a contradicted universe: the first may be older than the contradiction. */
const CONFIRMING_REPLIES_MIN = 2

/** Reserved for the main dex, which lists 230 coins and never removes one. */
export const LISTINGS_OF_MAIN = LISTINGS_MAX / 2

/** The accepted universe of each dex, and whether later data contradict it. */
export class UniverseCache {
  #known: readonly Listing[]
  readonly #byDex = new Map<string, Universe>()
  /** Per dex, a universe that removes known coins, and the number of equal replies in a row. */
  readonly #removing = new Map<string, { readonly list: Universe; readonly replies: number }>()
  /** Per contradicted dex, the number of replies that confirmed its universe since. */
  readonly #contradicted = new Map<string, number>()
  #hasOtherCollateral = false

  /** @param known listings of the engine; they hold for a dex until its first universe */
  constructor(known: readonly Listing[]) {
    this.#known = known
  }

  of(dex: string): Universe | undefined {
    return this.#byDex.get(dex)
  }

  /** All dexes in order of arrival; null is an unreadable row. */
  get all(): Universe {
    return [...this.#byDex.values()].flat()
  }

  /** Dexes with a universe. */
  get dexes(): Iterable<string> {
    return this.#byDex.keys()
  }

  /**
   * Data contradict the universe of a dex: its places name no coin until it is confirmed or replaced.
   * @returns whether the contradiction is new
   */
  contradict(dex: string): boolean {
    const isNew = this.#byDex.has(dex) && !this.#contradicted.has(dex)
    if (this.#byDex.has(dex)) this.#contradicted.set(dex, 0)
    return isNew
  }

  get isAnyContradicted(): boolean {
    return this.#contradicted.size > 0
  }

  isContradicted(dex: string): boolean {
    return this.#contradicted.has(dex)
  }

  /** At most {@link LISTINGS_MAX}. */
  get listings(): readonly Listing[] {
    const listed = this.all.filter((listing): listing is Listing => listing !== null)
    const known = this.#known.filter(({ coin }) => !this.#byDex.has(dexOf(coin)))
    return [...listed, ...known].slice(0, LISTINGS_MAX)
  }

  /** Whether a coin has another collateral than USDC. */
  get hasOtherCollateral(): boolean {
    return this.#hasOtherCollateral
  }

  take(dex: string, universe: Universe): { readonly isNew: boolean } | Rejected {
    // The main dex has reserved room.
    if (dex !== MAIN_DEX && !this.#hasRoomFor(dex, universe)) return rejected('universe_length')
    if (!this.#isAccepted(dex, universe)) {
      this.contradict(dex)
      return rejected('universe_changed')
    }
    const before = this.#byDex.get(dex)
    const isNew = JSON.stringify(universe) !== JSON.stringify(before)
    if (isNew) {
      this.#byDex.set(dex, universe)
      this.#noteCollateral()
    }
    this.#confirm(dex, before !== undefined && hasSamePlaces(universe, before))
    return { isNew }
  }

  /** The dex is no longer followed. */
  drop(dex: string): void {
    this.#byDex.delete(dex)
    this.#removing.delete(dex)
    this.#contradicted.delete(dex)
    this.#known = this.#known.filter(({ coin }) => dexOf(coin) !== dex)
    this.#noteCollateral()
  }

  /** @param isKept whether the reply has the same coins in the same places */
  #confirm(dex: string, isKept: boolean): void {
    const confirmed = this.#contradicted.get(dex)
    if (confirmed === undefined) return
    const replies = confirmed + 1
    if (!isKept || replies >= CONFIRMING_REPLIES_MIN) this.#contradicted.delete(dex)
    else this.#contradicted.set(dex, replies)
  }

  #noteCollateral(): void {
    this.#hasOtherCollateral = this.all.some(
      (listing) => (listing?.collateralToken ?? USDC_TOKEN) !== USDC_TOKEN,
    )
  }

  #hasRoomFor(dex: string, universe: Universe): boolean {
    let count = Math.max(LISTINGS_OF_MAIN, this.#byDex.get(MAIN_DEX)?.length ?? 0)
    for (const [other, { length }] of this.#byDex)
      if (other !== MAIN_DEX && other !== dex) count += length
    return count + universe.length <= LISTINGS_MAX
  }

  #isAccepted(dex: string, universe: Universe): boolean {
    const current = this.#byDex.get(dex)
    const isRemoving =
      current === undefined ? this.#lacksKnown(dex, universe) : !isContinued(current, universe)
    if (!isRemoving) {
      this.#removing.delete(dex)
      return true
    }
    const before = this.#removing.get(dex)
    const isRepeated = before !== undefined && hasSamePlaces(universe, before.list)
    const replies = isRepeated ? before.replies + 1 : 1
    if (replies < REMOVING_REPLIES_MIN) this.#removing.set(dex, { list: universe, replies })
    else this.#removing.delete(dex)
    return replies >= REMOVING_REPLIES_MIN
  }

  /** Whether a coin that the engine knew is absent, delisted or renamed. */
  #lacksKnown(dex: string, universe: Universe): boolean {
    const listed = new Map(universe.map((listing) => [listing?.coin, listing]))
    return this.#known.some(
      (known) => dexOf(known.coin) === dex && !isSameListing(known, listed.get(known.coin)),
    )
  }
}

/** Whether two universes have the same coins in the same places, with the same listing state. */
function hasSamePlaces(one: Universe, other: Universe): boolean {
  return (
    one.length === other.length &&
    one.every(
      (listing, place) =>
        listing?.coin === other[place]?.coin && listing?.isDelisted === other[place]?.isDelisted,
    )
  )
}
