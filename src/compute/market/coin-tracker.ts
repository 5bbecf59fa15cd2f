import type { Bar } from '../../domain/bar.ts'
import type { CoinEvent } from '../../domain/event.ts'
import type { MarketSample } from '../../domain/history.ts'
import type { Timeframe } from '../../domain/timeframe.ts'
import type { CoinMarket } from './coin-market.ts'

/**
 * What is built up of one coin's events beside its candles and last figures. One writer: the coin, which
 * tells it everything in order. It is bounded, knows no clock, and same events give the same state.
 */
export interface CoinTracker {
  /** The kinds that it is told of: most events are trades and quotes, and few trackers care. */
  readonly hears: readonly CoinEvent['kind'][]
  /** After the coin itself took the event in. */
  apply(event: CoinEvent, coin: CoinMarket): void
  /** A bar of the candles ended. One that was taken back comes again when it has ended. */
  closed?(timeframe: Timeframe, bar: Bar): void
  /** A whole minute's figures; the same that history keeps. */
  sample(sample: MarketSample): void
  /** Numbers that {@link restore} continues from; none where history brings everything back. */
  save(): Float64Array
  /** @returns false for numbers of another version: then it begins anew. */
  restore(saved: Float64Array, coin: CoinMarket): boolean
}
