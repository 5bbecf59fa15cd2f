import type { FeedStatusEvent, MarketEvent } from '../../domain/event.ts'
import type { Listing } from '../../domain/listing.ts'
import type { OutsideEvent } from '../../domain/outside.ts'
import { assetOf, isOutside } from '../../domain/outside.ts'
import type { PulsePool } from '../indicators/pulse-series.ts'
import { MeasureLog } from '../outside/measure-log.ts'
import type { OutsideMeasure } from '../outside/outside-measure.ts'
import { outsideMeasures } from '../outside/outside-measures.ts'
import { OutsideState } from '../outside/outside-state.ts'
import { CandleLadder } from './candle-ladder.ts'
import { CoinMarket } from './coin-market.ts'
import { Collaterals } from './collaterals.ts'
import type { MarketTracker } from './market-tracker.ts'
import { marketTrackers } from './market-trackers.ts'
import { NewestBar } from './newest-bar.ts'
import { joinSections, splitSections } from './saved-sections.ts'

/** Everything that the engine knows of the venue and of the world outside. One writer: the processor. */
export class MarketState {
  readonly trackers = marketTrackers()
  /** The newest word of every source beyond the venue ... */
  readonly outside = new OutsideState()
  /** ... what is measured by them over time, and the history of that. */
  readonly measures = outsideMeasures()
  readonly log = new MeasureLog()
  readonly #trackers: readonly MarketTracker[] = Object.values(this.trackers)
  readonly #listeners = listenersOf(this.#trackers)
  readonly #measures: readonly OutsideMeasure[] = Object.values(this.measures)
  readonly #pool: PulsePool
  readonly #coins = new Map<string, CoinMarket>()
  readonly #newestBar = new NewestBar()
  readonly #collaterals = new Collaterals()
  /** Names of the coins that are made of an asset, by the asset. */
  readonly #coinOfAsset = new Map<string, string>()
  /** Of coins that were delisted: the pool has a fixed size, and listings come and go for years. */
  readonly #spareLadders: CandleLadder[] = []
  #listings: readonly Listing[] = []
  #feed: FeedStatusEvent | null = null
  /** The latest instant that was observed, by the venue's clock. NaN before any. */
  #venueMs = Number.NaN
  /** The latest instant that was heard of anything of the venue's, by our clock. NaN before any. */
  #heardMs = Number.NaN

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

  /** The coin that is made of an asset, such as `kPEPE` of `PEPE`. */
  coinOf(asset: string): CoinMarket | undefined {
    return this.#coins.get(this.#coinOfAsset.get(asset) ?? '')
  }

  get heardMs(): number {
    return this.#heardMs
  }

  /** @returns the coin that the event changed, or null for news about all of them or about none. */
  apply(event: MarketEvent): CoinMarket | null {
    if (isOutside(event)) return this.#hear(event)
    const coin = this.#take(event)
    // After a subscription the venue repeats trades of long ago, and may show that some before them are lost.
    if (event.kind !== 'trade' && event.kind !== 'trade-gap') {
      if (!(event.timeExchangeMs <= this.#venueMs)) this.#venueMs = event.timeExchangeMs
      this.#heardMs = event.timeReceivedMs
    }
    const listeners = this.#listeners[event.kind]
    if (listeners !== undefined) for (const tracker of listeners) tracker.apply(event, this)
    return coin
  }

  /** @param nowMs by our clock */
  advance(nowMs: number): void {
    this.#collaterals.advance(nowMs)
    for (const coin of this.#coins.values()) coin.advance()
    if (!Number.isNaN(this.#venueMs))
      for (const tracker of this.#trackers) tracker.advance(this, this.#venueMs)
    for (const measure of this.#measures) measure.advance(this, nowMs)
  }

  /** Of what is tracked of all coins together. */
  save(): Float64Array {
    return joinSections([...this.#trackers, ...this.#measures].map((kept) => kept.save()))
  }

  restore(saved: Float64Array): void {
    const sections = splitSections(saved) ?? []
    for (const [at, kept] of [...this.#trackers, ...this.#measures].entries()) {
      const numbers = sections[at]
      if (numbers !== undefined) kept.restore(numbers)
    }
  }

  #hear(event: OutsideEvent): CoinMarket | null {
    if (event.kind === 'measure-history') this.log.remember(event)
    else this.outside.apply(event)
    for (const measure of this.#measures) measure.apply(event, this)
    return 'asset' in event ? (this.coinOf(event.asset) ?? null) : null
  }

  #take(event: Exclude<MarketEvent, OutsideEvent>): CoinMarket | null {
    if (event.kind === 'universe') {
      this.#list(event.listings)
      return null
    }
    if (event.kind === 'feed-status') {
      this.#feed = event
      for (const name of event.coins) this.#coins.get(name)?.interrupt(event.timeExchangeMs)
      return null
    }
    if (event.kind === 'collateral-prices') {
      this.#collaterals.apply(event)
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
      else
        this.#coins.set(
          name,
          new CoinMarket(listing, this.#newLadder(), this.#newestBar, this.#collaterals),
        )
    }
    this.#coinOfAsset.clear()
    for (const name of tradable.keys()) {
      const made = assetOf(name)
      // Where two are made of one asset, such as BTC and a wrapped one, the one of that name counts.
      if (made !== null && (name === made.asset || !this.#coinOfAsset.has(made.asset)))
        this.#coinOfAsset.set(made.asset, name)
    }
  }

  #newLadder(): CandleLadder {
    return this.#spareLadders.pop() ?? new CandleLadder(this.#pool)
  }
}

type Listeners = Readonly<Partial<Record<MarketEvent['kind'], readonly MarketTracker[]>>>

function listenersOf(trackers: readonly MarketTracker[]): Listeners {
  const kinds = new Set(trackers.flatMap(({ hears }) => hears))
  return Object.fromEntries(
    Array.from(kinds, (kind) => [kind, trackers.filter(({ hears }) => hears.includes(kind))]),
  )
}
