import type { Listing } from '../../../domain/listing.ts'
import { LISTINGS_MAX } from '../../../domain/listing.ts'
import type { Universe } from './universe.ts'
import { dexOf, isContinued, isStill, MAIN_DEX } from './universe.ts'
import type { Rejected } from './wire.ts'
import { rejected } from './wire.ts'

/**
 * The venue only appends coins, and what is known of a coin goes with it: that some are gone, delisted, or called
 * otherwise, is believed after so many replies.
 */
const CONTRARY_REPLIES_MIN = 3

/** Kept free for the venue's own dex, which lists 230 and never takes one away. */
const LISTINGS_OF_MAIN = LISTINGS_MAX / 2

/** The universes of all dexes, as far as they were told and are believed. */
export class ToldUniverses {
  readonly #known: readonly Listing[]
  readonly #byDex = new Map<string, Universe>()
  /** By dex: replies in a row by which known coins are gone or delisted. */
  readonly #contrary = new Map<string, number>()

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

  /** No more than the engine has room for. */
  get listings(): readonly Listing[] {
    const told = this.all.filter((listing): listing is Listing => listing !== null)
    const untold = this.#known.filter(({ coin }) => !this.#byDex.has(dexOf(coin)))
    return [...told, ...untold].slice(0, LISTINGS_MAX)
  }

  take(dex: string, universe: Universe): { readonly isNew: boolean } | Rejected {
    // The main dex is never refused: contexts do not fit a universe that is not taken.
    if (dex !== MAIN_DEX && !this.#hasRoomFor(dex, universe)) return rejected('universe_length')
    if (!this.#isCredible(dex, universe)) return rejected('universe_changed')
    const isNew = !isSame(universe, this.#byDex.get(dex))
    if (isNew) this.#byDex.set(dex, universe)
    return { isNew }
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
    const replies = isContrary ? (this.#contrary.get(dex) ?? 0) + 1 : 0
    const isCredible = !isContrary || replies >= CONTRARY_REPLIES_MIN
    this.#contrary.set(dex, isCredible ? 0 : replies)
    return isCredible
  }

  /** A coin that the engine knew before is gone, delisted, or called otherwise. */
  #lacksKnown(dex: string, universe: Universe): boolean {
    const told = new Map(universe.map((listing) => [listing?.coin, listing]))
    return this.#known.some(
      (known) => dexOf(known.coin) === dex && !isStill(known, told.get(known.coin)),
    )
  }
}

function isSame(one: Universe, other: Universe | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
