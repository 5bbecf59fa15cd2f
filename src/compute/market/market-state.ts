import type { FeedStatusEvent, MarketEvent } from '../../domain/event.ts'
import type { Listing } from '../../domain/listing.ts'
import type { PulsePool } from '../indicators/pulse-series.ts'
import { CandleLadder } from './candle-ladder.ts'
import { CoinMarket } from './coin-market.ts'
import type { MarketTracker } from './market-tracker.ts'
import { marketTrackers } from './market-trackers.ts'
import { joinSections, splitSections } from './saved-sections.ts'

/** Everything that the engine knows of the venue. One writer: the processor. */
export class MarketState {
  readonly trackers = marketTrackers()
  readonly #trackers: readonly MarketTracker[] = Object.values(this.trackers)
  readonly #pool: PulsePool
  readonly #coins = new Map<string, CoinMarket>()
  /** Of coins that were delisted: the pool has a fixed size, and listings come and go for years. */
  readonly #spareLadders: CandleLadder[] = []
  #listings: readonly Listing[] = []
  #feed: FeedStatusEvent | null = null
  /** The latest instant that was observed, by the venue's clock. NaN before any. */
  #venueMs = Number.NaN

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
    const coin = this.#take(event)
    // After a subscription the venue repeats trades of long ago.
    if (event.kind !== 'trade' && !(event.timeExchangeMs <= this.#venueMs))
      this.#venueMs = event.timeExchangeMs
    for (const tracker of this.#trackers) tracker.apply(event, this)
    return coin
  }

  advance(): void {
    for (const coin of this.#coins.values()) coin.advance()
    if (Number.isNaN(this.#venueMs)) return
    for (const tracker of this.#trackers) tracker.advance(this, this.#venueMs)
  }

  /** Of what is tracked of all coins together. */
  save(): Float64Array {
    return joinSections(this.#trackers.map((tracker) => tracker.save()))
  }

  restore(saved: Float64Array): void {
    const sections = splitSections(saved) ?? []
    for (const [at, tracker] of this.#trackers.entries()) {
      const numbers = sections[at]
      if (numbers !== undefined) tracker.restore(numbers)
    }
  }

  #take(event: MarketEvent): CoinMarket | null {
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
