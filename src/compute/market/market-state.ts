import type { FeedStatusEvent, MarketEvent } from '../../domain/event.ts'
import type { Listing } from '../../domain/listing.ts'
import type { PulsePool } from '../indicators/pulse-series.ts'
import { CoinMarket } from './coin-market.ts'

/** Everything that the engine knows of the venue. One writer: the processor. */
export class MarketState {
  readonly #pool: PulsePool
  readonly #coins = new Map<string, CoinMarket>()
  #listings: readonly Listing[] = []
  #feed: FeedStatusEvent | null = null

  constructor(pool: PulsePool) {
    this.#pool = pool
  }

  get listings(): readonly Listing[] {
    return this.#listings
  }

  get feed(): FeedStatusEvent | null {
    return this.#feed
  }

  /** Coins that trade, in the venue's order. */
  coins(): IterableIterator<CoinMarket> {
    return this.#coins.values()
  }

  coin(name: string): CoinMarket | undefined {
    return this.#coins.get(name)
  }

  /** @returns the coin that the event changed, or null for news about all of them or about none. */
  apply(event: MarketEvent): CoinMarket | null {
    if (event.kind === 'universe') {
      this.#list(event.listings)
      return null
    }
    if (event.kind === 'feed-status') {
      this.#feed = event
      if (event.state === 'down') for (const coin of this.#coins.values()) coin.ladder.interrupt()
      return null
    }
    const coin = this.#coins.get(event.coin)
    coin?.apply(event)
    return coin ?? null
  }

  advance(nowMs: number): void {
    for (const coin of this.#coins.values()) coin.ladder.advance(nowMs)
  }

  #list(listings: readonly Listing[]): void {
    this.#listings = listings
    const tradable = new Set<string>()
    for (const listing of listings) {
      if (listing.isDelisted) continue
      tradable.add(listing.coin)
      const known = this.#coins.get(listing.coin)
      if (known === undefined) this.#coins.set(listing.coin, new CoinMarket(listing, this.#pool))
      else known.listing = listing
    }
    for (const name of this.#coins.keys()) if (!tradable.has(name)) this.#coins.delete(name)
  }
}
