import type { Batch } from '../../../domain/event.ts'
import type { VenueChannel } from '../wire/channels.ts'
import { venueChannels } from '../wire/channels.ts'
import type { VenueSubscription } from '../wire/subscription.ts'
import { coinSubscriptions, marketChannels } from '../wire/subscription.ts'
import type { Universe } from '../wire/universe.ts'
import { dexOf, MAIN_DEX } from '../wire/universe.ts'

/**
 * Per IP address; see https://hyperliquid.gitbook.io/hyperliquid-docs/for-developers/api/rate-limits-and-user-limits
 */
export const SUBSCRIPTIONS_MAX = 1_000
/** Kept free for coins that are probed on a separate socket. */
const SUBSCRIPTIONS_SPARE = 10
/** The most traded coins, which get the additional channels. */
const HOT_COINS = 10
/** A hot coin stays hot within this rank, so that two coins of similar volume do not alternate. */
const HOT_COINS_KEPT = 15
/** A waiting coin replaces one with this much less volume, for the same reason. */
const EXCHANGE_FACTOR_MIN = 2

/**
 * The followed coins, their sockets and their subscriptions. Only coins that the universe lists are subscribed: the venue
 * closes the socket on an unknown name. A followed coin keeps its socket. Coins of the main dex come first, then those of
 * other dexes; among both the most traded ones, if there are more than subscriptions.
 */
export class SubscriptionPlan {
  /** The number of coins that the subscriptions permit. */
  readonly coinsMax: number
  readonly #sockets: number
  readonly #everyCoin: readonly VenueChannel[]
  readonly #hotOnly: readonly VenueChannel[]
  /** Socket by coin. */
  readonly #followed = new Map<string, number>()
  /** Place of each live coin in the universe. */
  #places: ReadonlyMap<string, number> = new Map()
  readonly #setAside = new Set<string>()
  #hot: ReadonlySet<string> = new Set()
  readonly #dayNotional = new Map<string, number>()
  #version = 0

  /** @param subscriptionsMax of the venue's limit for an IP address, which several engines may share */
  constructor(
    sockets: number,
    channels: readonly VenueChannel[] = venueChannels,
    subscriptionsMax = SUBSCRIPTIONS_MAX,
  ) {
    this.#sockets = sockets
    this.coinsMax = followedCoinsMax(channels, subscriptionsMax)
    this.#everyCoin = channels.filter(isForEveryCoin)
    this.#hotOnly = channels.filter((channel) => !isForEveryCoin(channel))
  }

  /** Rises whenever `subscriptions` may change. */
  get version(): number {
    return this.#version
  }

  /** The most traded coins at the last ranking. */
  get hot(): readonly string[] {
    return [...this.#hot]
  }

  /** Infinite for a new coin, which has the least history and is requested first. */
  readonly dayNotional = (coin: string): number =>
    this.#dayNotional.get(coin) ?? Number.POSITIVE_INFINITY

  /** Learns the volumes by which coins are ranked. */
  note(batch: Batch): void {
    for (const event of batch)
      if (event.kind === 'context') this.#dayNotional.set(event.coin, event.dayNotional)
  }

  setUniverse(universe: Universe): void {
    this.#places = new Map(
      universe.flatMap((listing, place) =>
        listing !== null && !listing.isDelisted ? [[listing.coin, place] as const] : [],
      ),
    )
    for (const coin of this.#followed.keys())
      if (!this.#places.has(coin)) this.#followed.delete(coin)
    for (const coin of this.#byVolume(this.#places.keys()))
      if (!this.#followed.has(coin) && this.#hasRoomFor(coin)) this.#follow(coin)
    this.#version += 1
    this.rank()
    for (const coin of this.#setAside) if (!this.#followed.has(coin)) this.#setAside.delete(coin)
  }

  /** Live coins beyond the subscription limit. */
  get leftOutCount(): number {
    return this.#places.size - this.#followed.size
  }

  countsOf(dex: string): { readonly alive: number; readonly leftOut: number } {
    const alive = [...this.#places.keys()].filter((coin) => dexOf(coin) === dex)
    return { alive: alive.length, leftOut: alive.filter((coin) => !this.follows(coin)).length }
  }

  /** Chooses the followed and the hot coins by the present volumes. */
  rank(): void {
    this.#exchange()
    const ranked = this.#byVolume(this.#followed.keys())
    const kept = ranked.slice(0, HOT_COINS_KEPT).filter((coin) => this.#hot.has(coin))
    const hot = new Set(kept.slice(0, HOT_COINS))
    for (const coin of ranked) if (hot.size < HOT_COINS) hot.add(coin)
    if (hot.size === this.#hot.size && [...hot].every((coin) => this.#hot.has(coin))) return
    this.#hot = hot
    this.#version += 1
  }

  /** In the order in which they were added, by volume. */
  get followed(): readonly string[] {
    return [...this.#followed.keys()]
  }

  follows(coin: string): boolean {
    return this.#followed.has(coin)
  }

  coinsOf(socket: number): readonly string[] {
    return [...this.#followed]
      .filter(([coin, index]) => index === socket && !this.#setAside.has(coin))
      .map(([coin]) => coin)
  }

  /** Followed coins without subscriptions, until they are restored. */
  setAside(coins: readonly string[]): void {
    for (const coin of coins) if (this.#followed.has(coin)) this.#setAside.add(coin)
    this.#version += 1
  }

  restore(coin: string): void {
    if (this.#setAside.delete(coin)) this.#version += 1
  }

  /** In sending order: channels of all coins, then coins by volume. */
  subscriptions(socket: number): readonly VenueSubscription[] {
    const ofAll = socket === 0 ? marketChannels.map((type) => ({ type })) : []
    return [
      ...ofAll,
      ...this.coinsOf(socket).flatMap((coin) => [
        ...coinSubscriptions(coin, this.#everyCoin),
        ...(this.#hot.has(coin) ? coinSubscriptions(coin, this.#hotOnly) : []),
      ]),
    ]
  }

  /** A coin of the main dex takes the room of the least traded coin of another dex. */
  #hasRoomFor(coin: string): boolean {
    if (this.#followed.size < this.coinsMax) return true
    if (dexOf(coin) !== MAIN_DEX) return false
    const least = this.#byVolume(this.#followed.keys())
      .filter((followed) => dexOf(followed) !== MAIN_DEX)
      .at(-1)
    return least !== undefined && this.#followed.delete(least)
  }

  /** Replaces the least traded coins by the most traded waiting ones. */
  #exchange(): void {
    const others = this.followed.filter((coin) => dexOf(coin) !== MAIN_DEX)
    // Coins of the main dex wait only while no other dex has room, and then coins of no other dex are exchanged.
    const isMainFull = others.length === 0
    const replaceable = this.#byVolume(isMainFull ? this.followed : others)
    for (const coin of this.#byVolume(this.#places.keys())) {
      if (this.#followed.has(coin) || (isMainFull && dexOf(coin) !== MAIN_DEX)) continue
      const least = replaceable.pop()
      if (least === undefined) return
      if (this.#knownNotional(coin) <= EXCHANGE_FACTOR_MIN * this.#knownNotional(least)) return
      this.#followed.delete(least)
      this.#setAside.delete(least)
      this.#follow(coin)
      this.#version += 1
    }
  }

  #follow(coin: string): void {
    this.#followed.set(coin, (this.#places.get(coin) ?? 0) % this.#sockets)
  }

  #byVolume(coins: Iterable<string>): string[] {
    return [...coins].toSorted(
      (one, other) => this.#knownNotional(other) - this.#knownNotional(one),
    )
  }

  #knownNotional(coin: string): number {
    return this.#dayNotional.get(coin) ?? 0
  }
}

export function isForEveryCoin({ subscribedFor }: VenueChannel): boolean {
  return subscribedFor === 'every coin'
}

function followedCoinsMax(channels: readonly VenueChannel[], subscriptionsMax: number): number {
  const perCoin = channels.filter(isForEveryCoin).length
  const forHotCoins = (channels.length - perCoin) * HOT_COINS
  const available = subscriptionsMax - SUBSCRIPTIONS_SPARE - marketChannels.length - forHotCoins
  return Math.max(1, Math.floor(available / perCoin))
}
