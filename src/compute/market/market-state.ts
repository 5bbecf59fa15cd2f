import type { FeedStatusEvent, MarketEvent } from '../../domain/event.ts'
import { isOfThePast } from '../../domain/event.ts'
import type { ExternalEvent } from '../../domain/external.ts'
import { assetOf, isExternal } from '../../domain/external.ts'
import type { Listing } from '../../domain/listing.ts'
import { CandleLadder } from '../candles/candle-ladder.ts'
import { NewestBar } from '../candles/newest-bar.ts'
import type { PulsePool } from '../indicators/pulse-series.ts'
import { CoinMarket } from './coin-market.ts'
import type { CoinTrackerKind } from './coin-tracker.ts'
import { Collaterals } from './collaterals.ts'
import { ExternalState } from './external-state.ts'
import { coinOfMeasure, MeasureLog } from './measure-log.ts'
import { joinNamed, splitNamed } from './saved-sections.ts'
import type { TrackerKind } from './tracker-kind.ts'
import { TrackerSet } from './tracker-set.ts'

/** State derived from all coins together, or from external sources. The rules of {@link CoinTracker} apply. */
export interface MarketTracker {
  readonly inputs?: readonly MarketEvent['kind'][]
  /** Called after the market applied the event. */
  apply?(event: MarketEvent, market: MarketState): void
  /**
   * Called several times a second before documents are rendered, after ended bars were closed. @param nowMs by our
   * clock
   */
  advance(market: MarketState, nowMs: number): void
  /** State that neither history nor {@link MeasureLog} restores, if any; finite numbers and NaN. */
  save?(): Float64Array
  /** @returns false for numbers of another version: the tracker then begins empty */
  restore?(saved: Float64Array): boolean
}

/** A tracker that the market has one of: `market.of(kind)`. */
export type MarketTrackerKind<T extends MarketTracker = MarketTracker> = TrackerKind<'market', T>

/** @param id section of its state in a checkpoint: `<analysis>/<name>`, or `market/<name>` for a shared tracker */
export function marketTracker<T extends MarketTracker>(
  id: string,
  create: () => T,
): MarketTrackerKind<T> {
  return { scope: 'market', id, create }
}

export type AnyTrackerKind = CoinTrackerKind | MarketTrackerKind

/** Current state of the venue and the external sources. Only the processor changes it. */
export class MarketState {
  /** Newest event of each external source. */
  readonly external = new ExternalState()
  /** Minute history of the measures that use them. */
  readonly log = new MeasureLog()
  readonly #coinTrackers: readonly CoinTrackerKind[]
  readonly #trackers: TrackerSet<MarketTracker>
  readonly #pool: PulsePool
  readonly #coins = new Map<string, CoinMarket>()
  readonly #newestBar = new NewestBar()
  readonly #collaterals = new Collaterals()
  /** Coin of each asset. */
  readonly #coinOfAsset = new Map<string, string>()
  /** Ladders of delisted coins, for reuse: the pool has a fixed size. */
  readonly #spareLadders: CandleLadder[] = []
  #listings: readonly Listing[] = []
  #feed: FeedStatusEvent | null = null
  /** Latest venue time of any event. NaN before any. */
  #venueMs = Number.NaN
  /** Latest receive time of any event of the venue. NaN before any. */
  #heardMs = Number.NaN

  /** @param kinds trackers of the market and of its coins */
  constructor(pool: PulsePool, kinds: readonly AnyTrackerKind[]) {
    this.#pool = pool
    this.#coinTrackers = kinds.filter((kind) => kind.scope === 'coin')
    this.#trackers = new TrackerSet(kinds.filter((kind) => kind.scope === 'market'))
  }

  /** Its tracker of a kind that was given to the constructor. @throws for another kind */
  of<T extends MarketTracker>(kind: MarketTrackerKind<T>): T {
    return this.#trackers.of(kind)
  }

  get listings(): readonly Listing[] {
    return this.#listings
  }

  get feed(): FeedStatusEvent | null {
    return this.#feed
  }

  /** Tradable coins, in the venue's order. */
  coins(): IterableIterator<CoinMarket> {
    return this.#coins.values()
  }

  coin(name: string): CoinMarket | undefined {
    return this.#coins.get(name)
  }

  /** The coin of an asset, such as `kPEPE` for `PEPE`. */
  coinOf(asset: string): CoinMarket | undefined {
    return this.#coins.get(this.#coinOfAsset.get(asset) ?? '')
  }

  get receivedMs(): number {
    return this.#heardMs
  }

  get venueMs(): number {
    return this.#venueMs
  }

  /** @returns the coin that the event changed; null for an event about all coins or none */
  apply(event: MarketEvent): CoinMarket | null {
    const coin = isExternal(event) ? this.#applyExternal(event) : this.#take(event)
    for (const tracker of this.#trackers.takingInput(event.kind)) tracker.apply?.(event, this)
    return coin
  }

  /** @param nowMs by our clock */
  advance(nowMs: number): void {
    this.#collaterals.advance(nowMs)
    for (const coin of this.#coins.values()) coin.advance()
    for (const tracker of this.#trackers.all) tracker.advance(this, nowMs)
  }

  /** State of the market trackers. */
  save(): Float64Array {
    return joinNamed(new Map(this.#trackers.saved()))
  }

  restore(saved: Float64Array): void {
    const sections = splitNamed(saved)
    if (sections === null) return
    this.#trackers.restore(sections, (tracker, numbers) => tracker.restore?.(numbers))
  }

  #applyExternal(event: ExternalEvent): CoinMarket | null {
    if (event.kind === 'measure-history')
      this.log.load(event, this.#coins.get(coinOfMeasure(event.series) ?? '')?.listedAgainMs)
    else this.external.apply(event)
    return 'asset' in event ? (this.coinOf(event.asset) ?? null) : null
  }

  #take(event: Exclude<MarketEvent, ExternalEvent>): CoinMarket | null {
    if (!isOfThePast(event)) {
      if (!(event.timeExchangeMs <= this.#venueMs)) this.#venueMs = event.timeExchangeMs
      this.#heardMs = event.timeReceivedMs
    }
    if (event.kind === 'universe') {
      this.#list(event.listings, event.timeExchangeMs)
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
    if (!('coin' in event)) return null
    const coin = this.#coins.get(event.coin)
    coin?.apply(event)
    return coin ?? null
  }

  #list(listings: readonly Listing[], nowMs: number): void {
    const delisted = new Set(
      this.#listings.filter(({ isDelisted }) => isDelisted).map(({ coin }) => coin),
    )
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
      else {
        const coin = new CoinMarket(
          listing,
          this.#spareLadders.pop() ?? new CandleLadder(this.#pool),
          this.#coinTrackers,
          this.#newestBar,
          this.#collaterals,
        )
        this.#coins.set(name, coin)
        if (!delisted.has(name)) continue
        coin.listedAgain(nowMs)
        this.log.forget(name)
      }
    }
    this.#coinOfAsset.clear()
    for (const name of tradable.keys()) {
      const made = assetOf(name)
      // Of two coins of one asset, such as BTC and a wrapped one, the coin of the same name counts.
      if (made !== null && (name === made.asset || !this.#coinOfAsset.has(made.asset)))
        this.#coinOfAsset.set(made.asset, name)
    }
  }
}
