import type { Listing } from '../../../domain/listing.ts'
import { LISTINGS_MAX, USDC_TOKEN } from '../../../domain/listing.ts'
import type { Universe } from '../wire/universe.ts'
import { dexOf, isContinued, isStill, MAIN_DEX } from '../wire/universe.ts'
import type { Rejected } from '../wire/values.ts'
import { rejected } from '../wire/values.ts'

/**
 * The venue only appends coins, and what is known of a coin goes with it: a list without some of them, or with some
 * delisted or renamed, is accepted after this many equal replies.
 */
const CONTRARY_REPLIES_MIN = 3

/** Replies after which a contradicted list holds: one may have been made before what contradicts it. */
const CONFIRMING_REPLIES_MIN = 2

/** Kept free for the venue's own dex, which lists 230 and never takes one away. */
export const LISTINGS_OF_MAIN = LISTINGS_MAX / 2

/** The universes of all dexes, as far as they were told and are believed. */
export class UniverseCache {
  #known: readonly Listing[]
  readonly #byDex = new Map<string, Universe>()
  /** By dex: the list that takes known coins away, and the number of replies in a row that had it. */
  readonly #contrary = new Map<string, { readonly list: Universe; readonly replies: number }>()
  /** Dexes whose list is contradicted, and the number of replies since then that confirmed it. */
  readonly #contradicted = new Map<string, number>()
  #hasOtherCollateral = false

  /** @param known what the engine knew before: a dex that has not told anything yet still has these */
  constructor(known: readonly Listing[]) {
    this.#known = known
  }

  of(dex: string): Universe | undefined {
    return this.#byDex.get(dex)
  }

  /** The venue's own first. null holds an unread place. */
  get all(): Universe {
    return [...this.#byDex.values()].flat()
  }

  /** The dexes that have a list. */
  get dexes(): Iterable<string> {
    return this.#byDex.keys()
  }

  /**
   * Something differs from the list of a dex: a place in it names no coin until the list is confirmed or replaced.
   * @returns whether that is new
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

  /** No more than the engine has room for. */
  get listings(): readonly Listing[] {
    const told = this.all.filter((listing): listing is Listing => listing !== null)
    const untold = this.#known.filter(({ coin }) => !this.#byDex.has(dexOf(coin)))
    return [...told, ...untold].slice(0, LISTINGS_MAX)
  }

  /** Some coin is in a unit that needs a price. */
  get hasOtherCollateral(): boolean {
    return this.#hasOtherCollateral
  }

  take(dex: string, universe: Universe): { readonly isNew: boolean } | Rejected {
    // The main dex is never refused: contexts do not fit a universe that is not taken.
    if (dex !== MAIN_DEX && !this.#hasRoomFor(dex, universe)) return rejected('universe_length')
    if (!this.#isCredible(dex, universe)) {
      this.contradict(dex)
      return rejected('universe_changed')
    }
    const before = this.#byDex.get(dex)
    const isNew = !isSame(universe, before)
    if (isNew) {
      this.#byDex.set(dex, universe)
      this.#noteCollateral()
    }
    this.#confirm(dex, before !== undefined && hasSamePlaces(universe, before))
    return { isNew }
  }

  /** It is not followed any more: nothing of it is listed. */
  drop(dex: string): void {
    this.#byDex.delete(dex)
    this.#contrary.delete(dex)
    this.#contradicted.delete(dex)
    this.#known = this.#known.filter(({ coin }) => dexOf(coin) !== dex)
    this.#noteCollateral()
  }

  /** @param isKept whether the reply has each coin at the place where the list had it, and no others */
  #confirm(dex: string, isKept: boolean): void {
    const replies = (this.#contradicted.get(dex) ?? CONFIRMING_REPLIES_MIN) + 1
    if (!isKept || replies >= CONFIRMING_REPLIES_MIN) this.#contradicted.delete(dex)
    else this.#contradicted.set(dex, replies)
  }

  #noteCollateral(): void {
    this.#hasOtherCollateral = this.all.some(
      (listing) => (listing?.collateralToken ?? USDC_TOKEN) > USDC_TOKEN,
    )
  }

  #hasRoomFor(dex: string, universe: Universe): boolean {
    let count = Math.max(LISTINGS_OF_MAIN, this.#byDex.get(MAIN_DEX)?.length ?? 0)
    for (const [other, { length }] of this.#byDex)
      if (other !== MAIN_DEX && other !== dex) count += length
    return count + universe.length <= LISTINGS_MAX
  }

  #isCredible(dex: string, universe: Universe): boolean {
    const told = this.#byDex.get(dex)
    const isContrary =
      told === undefined ? this.#lacksKnown(dex, universe) : !isContinued(told, universe)
    if (!isContrary) {
      this.#contrary.delete(dex)
      return true
    }
    const before = this.#contrary.get(dex)
    const isRepeated = before !== undefined && hasSamePlaces(universe, before.list)
    const replies = isRepeated ? before.replies + 1 : 1
    if (replies < CONTRARY_REPLIES_MIN) this.#contrary.set(dex, { list: universe, replies })
    else this.#contrary.delete(dex)
    return replies >= CONTRARY_REPLIES_MIN
  }

  /** A coin that the engine knew before is gone, delisted, or called otherwise. */
  #lacksKnown(dex: string, universe: Universe): boolean {
    const told = new Map(universe.map((listing) => [listing?.coin, listing]))
    return this.#known.some(
      (known) => dexOf(known.coin) === dex && !isStill(known, told.get(known.coin)),
    )
  }
}

/** Whether two lists name the same coins in the same order, alive or not alike. */
function hasSamePlaces(one: Universe, other: Universe): boolean {
  return (
    one.length === other.length &&
    one.every(
      (listing, place) =>
        listing?.coin === other[place]?.coin && listing?.isDelisted === other[place]?.isDelisted,
    )
  )
}

function isSame(one: Universe, other: Universe | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
