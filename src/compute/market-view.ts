import type { FeedStatusEvent, FillsWindow } from '../domain/event.ts'
import type { SourceStatusEvent } from '../domain/external.ts'
import type { Listing } from '../domain/listing.ts'
import { tradableOf } from '../domain/listing.ts'
import type { HistoryNeed } from './candles/candle-ladder.ts'
import { liquidationCandidates } from './liquidation/liquidation-candidates.ts'
import type { MarketState } from './market/market-state.ts'
import { takerFlow } from './market/taker-flow.ts'
import { hourlyCloses } from './volatility/hourly-closes.ts'

/** Read-only questions about the state of the market: what is listed, and which data are missing. */
export class MarketView {
  readonly #market: MarketState

  constructor(market: MarketState) {
    this.#market = market
  }

  get listings(): readonly Listing[] {
    return this.#market.listings
  }

  /** Coins that trade, in the venue's order. */
  get tradable(): readonly string[] {
    return tradableOf(this.#market.listings)
  }

  /** The newest status of the venue's feed; null before the first. */
  get feed(): FeedStatusEvent | null {
    return this.#market.feed
  }

  /** The newest status of each configured external source. */
  get sources(): readonly SourceStatusEvent[] {
    return this.#market.external.sources()
  }

  /** Ranges of past bars of a coin that must be requested from the venue. */
  missingBars(coin: string, nowMs: number): readonly HistoryNeed[] {
    return this.#market.coin(coin)?.ladder.needs(nowMs) ?? []
  }

  /** Closed bars of a coin to compare with the venue's candles; null for none. */
  barsToAudit(coin: string): HistoryNeed | null {
    return this.#market.coin(coin)?.ladder.audit() ?? null
  }

  /** Open time from which closed 1h bars of a coin are missing; null for none. */
  missingHoursFromMs(name: string, nowMs: number): number | null {
    const coin = this.#market.coin(name)
    if (coin === undefined) return null
    const depthFromMs = coin.ladder.depthFromMs(nowMs)
    const closesFromMs = coin.of(hourlyCloses).needFromMs(nowMs)
    if (depthFromMs === null || closesFromMs === null) return depthFromMs ?? closesFromMs
    return Math.min(depthFromMs, closesFromMs)
  }

  /** Fills of an account that may be liquidations and must be requested; null for none. @param venueMs by the venue's clock */
  fillsToRead(venueMs: number, isDeferred: (account: string) => boolean): FillsWindow | null {
    return this.#market.of(liquidationCandidates).next(venueMs, isDeferred)
  }

  /** Figures of the venue, in the coin's unit; null before the first, undefined for a coin that is not listed. */
  reportedFigures(
    coin: string,
  ): { readonly markPrice: number; readonly openInterestBase: number } | null | undefined {
    return this.#market.coin(coin)?.context
  }

  /** By the venue's clock: the newest trade of a coin that was counted, and its newest figures; NaN for none. */
  knownTrades(name: string): { readonly newestMs: number; readonly observedMs: number } {
    const coin = this.#market.coin(name)
    return {
      newestMs: coin?.of(takerFlow).newestTradeMs ?? Number.NaN,
      observedMs: coin?.context?.timeExchangeMs ?? Number.NaN,
    }
  }
}
