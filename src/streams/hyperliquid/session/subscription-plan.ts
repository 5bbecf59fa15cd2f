import type { Batch } from '../../../domain/event.ts'
import type { Listing } from '../../../domain/listing.ts'
import type { VenueSubscription } from '../wire/subscription.ts'
import { coinSubscriptions, marketChannels } from '../wire/subscription.ts'
import type { Universe } from '../wire/universe.ts'
import { dexOf, MAIN_DEX } from '../wire/universe.ts'

/** The venue's limit for one address. */
const SUBSCRIPTIONS_MAX = 1_000
const SUBSCRIPTIONS_GLOBAL = marketChannels.length
const SUBSCRIPTIONS_PER_COIN = 3
const SUBSCRIPTIONS_PER_HOT_COIN = 2
/** The most traded coins: they also get every quote change and their own contexts. */
const HOT_COINS = 10
/** A hot coin stays hot while it is among so many: two that are about equal do not take turns. */
const HOT_COINS_KEPT = 15
/** Of which as many stay free, for coins that are tried on a socket of their own. */
const SUBSCRIPTIONS_SPARE = 10

/** Coins that can be followed at once. */
export const FOLLOWED_COINS_MAX = Math.floor(
  (SUBSCRIPTIONS_MAX -
    SUBSCRIPTIONS_SPARE -
    SUBSCRIPTIONS_GLOBAL -
    HOT_COINS * SUBSCRIPTIONS_PER_HOT_COIN) /
    SUBSCRIPTIONS_PER_COIN,
)

/** Whoever waits has the room of one that is traded so much less: two that are about equal do not take turns. */
const EXCHANGE_FACTOR_MIN = 2

/**
 * Which coins are followed, and on which socket. Only names that the venue's metadata lists as alive
 * get in, because the venue drops the socket of whoever subscribes anything else. A coin of the venue's own dex keeps
 * its socket and its place until it is delisted. Those of others share what is left: where that is not enough for all,
 * whoever came first has it, and the most traded ones have it in the end.
 */
export class SubscriptionPlan {
  readonly #sockets: number
  readonly #followed = new Map<string, number>()
  /** Coins that are alive, and where they stand among all. */
  #places: ReadonlyMap<string, number> = new Map()
  readonly #aside = new Set<string>()
  #hot: ReadonlySet<string> = new Set()
  readonly #dayNotionalUsd = new Map<string, number>()
  #version = 0

  constructor(sockets: number) {
    this.#sockets = sockets
  }

  /** Rises whenever `subscriptions` may answer something else. */
  get version(): number {
    return this.#version
  }

  /** The most traded, at the last ranking. */
  get hot(): readonly string[] {
    return [...this.#hot]
  }

  /** Unknown of a coin that was listed just now: it has the least history, so it is asked first. */
  readonly dayNotionalUsd = (coin: string): number =>
    this.#dayNotionalUsd.get(coin) ?? Number.POSITIVE_INFINITY

  /** Learns the volumes that coins are ranked by. */
  note(batch: Batch): void {
    for (const event of batch)
      if (event.kind === 'context') this.#dayNotionalUsd.set(event.coin, event.dayNotionalUsd)
  }

  setUniverse(universe: Universe): void {
    const alive = universe.filter((row) => row !== null && !row.isDelisted)
    const ranked = this.#byVolume(alive)
    const aliveCoins = new Set(ranked.map(({ coin }) => coin))
    for (const coin of this.#followed.keys()) if (!aliveCoins.has(coin)) this.#followed.delete(coin)
    this.#places = new Map(
      universe.flatMap((listing, place) =>
        listing !== null && aliveCoins.has(listing.coin) ? [[listing.coin, place] as const] : [],
      ),
    )
    for (const { coin } of ranked)
      if (!this.#followed.has(coin) && this.#hasRoomFor(coin)) this.#follow(coin)
    this.#version += 1
    this.rank()
    // Whoever comes again is tried again.
    for (const coin of this.#aside) if (!this.#followed.has(coin)) this.#aside.delete(coin)
  }

  /** Coins that are alive and not followed, because the venue grants no more subscriptions. */
  get leftOutCount(): number {
    return this.#places.size - this.#followed.size
  }

  /** Of one dex: coins that are alive, and those of them that are not followed. */
  countsOf(dex: string): { readonly alive: number; readonly leftOut: number } {
    const alive = [...this.#places.keys()].filter((coin) => dexOf(coin) === dex)
    return { alive: alive.length, leftOut: alive.filter((coin) => !this.follows(coin)).length }
  }

  /** By the volumes of now, chooses the coins that have what room there is, and of them the hot ones. */
  rank(): void {
    this.#exchange()
    const ranked = [...this.#followed.keys()].toSorted(
      (one, other) => this.#knownUsd(other) - this.#knownUsd(one),
    )
    const kept = ranked.slice(0, HOT_COINS_KEPT).filter((coin) => this.#hot.has(coin))
    const hot = new Set(kept.slice(0, HOT_COINS))
    for (const coin of ranked) if (hot.size < HOT_COINS) hot.add(coin)
    if (hot.size === this.#hot.size && [...hot].every((coin) => this.#hot.has(coin))) return
    this.#hot = hot
    this.#version += 1
  }

  /** The most traded first, as they were when they came. */
  get followed(): readonly string[] {
    return [...this.#followed.keys()]
  }

  follows(coin: string): boolean {
    return this.#followed.has(coin)
  }

  coinsOf(socket: number): readonly string[] {
    return [...this.#followed]
      .filter(([coin, index]) => index === socket && !this.#aside.has(coin))
      .map(([coin]) => coin)
  }

  /** Such coins are followed, but subscribed on no socket of ours until they are let in again. */
  setAside(coins: readonly string[]): void {
    for (const coin of coins) if (this.#followed.has(coin)) this.#aside.add(coin)
    this.#version += 1
  }

  letIn(coin: string): void {
    if (this.#aside.delete(coin)) this.#version += 1
  }

  isAside(coin: string): boolean {
    return this.#aside.has(coin)
  }

  /** In the order in which they are to be sent: what covers every coin, then coins by volume. */
  subscriptions(socket: number): readonly VenueSubscription[] {
    const everything: VenueSubscription[] =
      socket === 0 ? marketChannels.map((type) => ({ type })) : []
    return everything.concat(
      this.coinsOf(socket).flatMap((coin) => [
        ...coinSubscriptions(coin),
        ...(this.#hot.has(coin)
          ? [{ type: 'bbo', coin } as const, { type: 'activeAssetCtx', coin } as const]
          : []),
      ]),
    )
  }

  /** A coin of the venue's own dex has it, at the cost of the least traded one of another. */
  #hasRoomFor(coin: string): boolean {
    if (this.#followed.size < FOLLOWED_COINS_MAX) return true
    if (dexOf(coin) !== MAIN_DEX) return false
    const [least] = [...this.#followed.keys()]
      .filter((followed) => dexOf(followed) !== MAIN_DEX)
      .toSorted((one, other) => this.#knownUsd(one) - this.#knownUsd(other))
    return least !== undefined && this.#followed.delete(least)
  }

  /** The most traded of those that wait for the least traded of the others' that are followed, and so on. */
  #exchange(): void {
    const byVolume = (coins: readonly string[]) =>
      coins.toSorted((one, other) => this.#knownUsd(other) - this.#knownUsd(one))
    const waiting = byVolume([...this.#places.keys()].filter((coin) => !this.#followed.has(coin)))
    const ofOthers = byVolume(this.followed.filter((coin) => dexOf(coin) !== MAIN_DEX))
    for (const coin of waiting) {
      const least = ofOthers.pop()
      if (least === undefined) return
      if (this.#knownUsd(coin) <= EXCHANGE_FACTOR_MIN * this.#knownUsd(least)) return
      this.#followed.delete(least)
      this.#aside.delete(least)
      this.#follow(coin)
      this.#version += 1
    }
  }

  #follow(coin: string): void {
    this.#followed.set(coin, (this.#places.get(coin) ?? 0) % this.#sockets)
  }

  #byVolume(listings: readonly (Listing | null)[]): readonly Listing[] {
    return listings
      .filter((listing) => listing !== null)
      .toSorted((one, other) => this.#knownUsd(other.coin) - this.#knownUsd(one.coin))
  }

  #knownUsd(coin: string): number {
    return this.#dayNotionalUsd.get(coin) ?? 0
  }
}
