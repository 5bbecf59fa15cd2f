import type { FeedStatusEvent, MarketEvent } from '../../domain/event.ts'
import type { Listing } from '../../domain/listing.ts'
import type { PulsePool } from '../indicators/pulse-series.ts'
import { CandleLadder } from './candle-ladder.ts'
import { CoinMarket } from './coin-market.ts'

/** Everything that the engine knows of the venue. One writer: the processor. */
export class MarketState {
  readonly #pool: PulsePool
  readonly #coins = new Map<string, CoinMarket>()
  /** Of coins that were delisted: the pool has a fixed size, and listings come and go for years. */
  readonly #spareLadders: CandleLadder[] = []
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
      for (const name of event.coins) this.#coins.get(name)?.interrupt(event.timeExchangeMs)
      return null
    }
    const coin = this.#coins.get(event.coin)
    coin?.apply(event)
    return coin ?? null
  }

  advance(): void {
    for (const coin of this.#coins.values()) coin.advance()
  }

  #list(listings: readonly Listing[]): void {
    this.#listings = listings
    const tradable = new Map(
      listings.filter(({ isDelisted }) => !isDelisted).map((listing) => [listing.coin, listing]),
    )
    for (const [name, coin] of this.#coins) {
      if (tradable.has(name)) continue
      coin.ladder.reset()
      this.#spareLadders.push(coin.ladder)
      this.#coins.delete(name)
    }
    for (const [name, listing] of tradable) {
      const known = this.#coins.get(name)
      if (known !== undefined) known.listing = listing
      else this.#coins.set(name, new CoinMarket(listing, this.#newLadder()))
    }
  }

  #newLadder(): CandleLadder {
    return this.#spareLadders.pop() ?? new CandleLadder(this.#pool)
  }
}
