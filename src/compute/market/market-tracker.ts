import type { MarketEvent } from '../../domain/event.ts'
import type { MarketState } from './market-state.ts'

/** What is built up of all coins together. The rules of a coin's tracker hold. */
export interface MarketTracker {
  readonly hears: readonly MarketEvent['kind'][]
  /** After the market took the event in. */
  apply(event: MarketEvent, market: MarketState): void
  /**
   * Before documents are rendered, after the bars that ended were closed.
   * @param venueMs the latest instant that was observed, by the venue's clock
   */
  advance(market: MarketState, venueMs: number): void
  save(): Float64Array
  restore(saved: Float64Array): boolean
}
