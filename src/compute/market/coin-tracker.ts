import type { CoinEvent } from '../../domain/event.ts'
import type { MarketSample } from '../../domain/history.ts'
import type { CoinMarket } from './coin-market.ts'

/**
 * What is built up of one coin's events beside its candles and last figures. One writer: the coin, which
 * tells it everything in order. It is bounded, knows no clock, and same events give the same state.
 */
export interface CoinTracker {
  /** After the coin itself took the event in. */
  apply(event: CoinEvent, coin: CoinMarket): void
  /** A whole minute's figures; the same that history keeps. */
  sample(sample: MarketSample): void
  /** Numbers that {@link restore} continues from; none where history brings everything back. */
  save(): Float64Array
  /** @returns false for numbers of another version: then it begins anew. */
  restore(saved: Float64Array): boolean
}
