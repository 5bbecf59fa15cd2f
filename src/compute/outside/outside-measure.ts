import type { OutsideEvent } from '../../domain/outside.ts'
import type { MarketState } from '../market/market-state.ts'

/**
 * Something that is measured over time beyond the venue, or of the venue against the world outside. One
 * writer: the market, which tells it everything in order. It is bounded, knows no clock, and the same
 * events and instants give the same state.
 */
export interface OutsideMeasure {
  /** After the market took the event in. */
  apply(event: OutsideEvent, market: MarketState): void
  /** Before documents are rendered, several times a second. @param nowMs by our clock */
  advance(market: MarketState, nowMs: number): void
  /** What {@link MeasureLog} does not bring back; finite numbers and NaN. */
  save(): Float64Array
  /** @returns false for numbers of another version: then it begins anew. */
  restore(saved: Float64Array): boolean
}
