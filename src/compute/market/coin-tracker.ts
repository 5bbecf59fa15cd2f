import type { Bar } from '../../domain/bar.ts'
import type { CoinEvent } from '../../domain/event.ts'
import type { FundingRow, MarketSample } from '../../domain/history.ts'
import type { Listing } from '../../domain/listing.ts'
import type { Timeframe } from '../../domain/timeframe.ts'
import type { CandleLadder } from '../candles/candle-ladder.ts'
import type { TrackerKind } from './tracker-kind.ts'

/** The part of a coin that trackers read. */
export type TrackedCoin = { readonly listing: Listing; readonly ladder: CandleLadder }

/**
 * State derived from the events of one coin. The coin passes it each event in order. It is bounded, reads no clock,
 * and the same events give the same state.
 */
export interface CoinTracker {
  /** Event kinds that {@link apply} takes: most events are trades and quotes, which few trackers need. */
  readonly inputs?: readonly CoinEvent['kind'][]
  /** Called after the coin applied the event. */
  apply?(event: CoinEvent, coin: TrackedCoin): void
  /** Called when a bar closes; again if it was reopened. */
  closed?(timeframe: Timeframe, bar: Bar): void
  /** Called with the sample of each minute that history stores. */
  sample?(sample: MarketSample): void
  /** Called with the estimate of each hour's funding that history stores. */
  estimate?(funding: FundingRow): void
  /** State for the checkpoint; absent where history restores all of it. */
  save?(): Float64Array
  /** @returns false for numbers of another version: the tracker then begins empty */
  restore?(saved: Float64Array, coin: TrackedCoin): boolean
}

/** A tracker that each coin has one of: `coin.of(kind)`. */
export type CoinTrackerKind<T extends CoinTracker = CoinTracker> = TrackerKind<'coin', T>

/** @param id section of its state in a checkpoint: `<analysis>/<name>`, or `market/<name>` for a shared tracker */
export function coinTracker<T extends CoinTracker>(
  id: string,
  create: () => T,
): CoinTrackerKind<T> {
  return { scope: 'coin', id, create }
}
