import type { Batch } from '../../../domain/event.ts'
import type { Listing } from '../../../domain/listing.ts'
import type { Universe } from './universe.ts'

export type Subscription =
  | { readonly type: 'fastAssetCtxs' | 'allDexsAssetCtxs' }
  | { readonly type: 'trades' | 'l2Book' | 'bbo' | 'activeAssetCtx'; readonly coin: string }
  | { readonly type: 'candle'; readonly coin: string; readonly interval: '15m' }

/** The venue's limit for one address. */
const SUBSCRIPTIONS_MAX = 1_000
const SUBSCRIPTIONS_GLOBAL = 2
const SUBSCRIPTIONS_PER_COIN = 3
const SUBSCRIPTIONS_PER_HOT_COIN = 2
/** The most traded coins at the start: they also get every quote change and their own contexts. */
const HOT_COINS = 10

const COINS_MAX = Math.floor(
  (SUBSCRIPTIONS_MAX - SUBSCRIPTIONS_GLOBAL - HOT_COINS * SUBSCRIPTIONS_PER_HOT_COIN) /
    SUBSCRIPTIONS_PER_COIN,
)

/**
 * Which coins are followed, and on which socket. Only names that the venue's metadata lists as alive
 * get in, because the venue drops the socket of whoever subscribes anything else. A coin keeps its
 * socket and its place for good; a later universe only adds coins and removes delisted ones.
 */
export class Roster {
  readonly #sockets: number
  #universe: Universe = []
  readonly #followed = new Map<string, number>()
  readonly #hot = new Set<string>()
  readonly #dayNotionalUsd = new Map<string, number>()
  #version = 0

  constructor(sockets: number) {
    this.#sockets = sockets
  }

  /** Rises whenever `subscriptions` may answer something else. */
  get version(): number {
    return this.#version
  }

  get listings(): readonly Listing[] {
    return this.#universe.filter((listing) => listing !== null)
  }

  readonly dayNotionalUsd = (coin: string): number => this.#dayNotionalUsd.get(coin) ?? 0

  /** Learns the volumes that coins are ranked by. */
  note(batch: Batch): void {
    for (const event of batch)
      if (event.kind === 'context') this.#dayNotionalUsd.set(event.coin, event.dayNotionalUsd)
  }

  /** @returns false when it is the universe that is already known. */
  setUniverse(universe: Universe): boolean {
    if (JSON.stringify(universe) === JSON.stringify(this.#universe)) return false
    this.#universe = universe
    this.#version += 1
    const alive = this.#byVolume(universe.filter((row) => row !== null && !row.isDelisted))
    const aliveCoins = new Set(alive.map(({ coin }) => coin))
    for (const coin of this.#followed.keys()) if (!aliveCoins.has(coin)) this.#followed.delete(coin)
    const position = new Map(universe.map((listing, index) => [listing?.coin, index]))
    for (const { coin } of alive) {
      if (this.#followed.has(coin) || this.#followed.size >= COINS_MAX) continue
      this.#followed.set(coin, (position.get(coin) ?? 0) % this.#sockets)
    }
    if (this.#hot.size === 0) for (const { coin } of alive.slice(0, HOT_COINS)) this.#hot.add(coin)
    return true
  }

  follows(coin: string): boolean {
    return this.#followed.has(coin)
  }

  coinsOf(socket: number): readonly string[] {
    return [...this.#followed].filter(([, index]) => index === socket).map(([coin]) => coin)
  }

  /** In the order in which they are to be sent: what covers every coin, then coins by volume. */
  subscriptions(socket: number): readonly Subscription[] {
    const everything: Subscription[] =
      socket === 0 ? [{ type: 'fastAssetCtxs' }, { type: 'allDexsAssetCtxs' }] : []
    return everything.concat(
      this.coinsOf(socket).flatMap((coin): Subscription[] => [
        { type: 'candle', coin, interval: '15m' },
        { type: 'trades', coin },
        { type: 'l2Book', coin },
        ...(this.#hot.has(coin)
          ? [{ type: 'bbo', coin } as const, { type: 'activeAssetCtx', coin } as const]
          : []),
      ]),
    )
  }

  #byVolume(listings: readonly (Listing | null)[]): readonly Listing[] {
    return listings
      .filter((listing) => listing !== null)
      .toSorted((one, other) => this.dayNotionalUsd(other.coin) - this.dayNotionalUsd(one.coin))
  }
}
