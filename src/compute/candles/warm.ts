import type { Timeframe } from '../../domain/timeframe.ts'
import { SETTLED_BARS_BUT_EMA_200 } from '../indicators/seed-memory.ts'
import { WARM_BARS } from '../indicators/warm-up.ts'
import type { CandleLadder } from './candle-ladder.ts'

/** Closed bars needed for a coin with complete history: the window of EMA 200. */
export const BARS_NEEDED = WARM_BARS

/** Closed bars needed with incomplete history: everything but EMA 200 is settled then, and EMA 200 is withheld. */
export const BARS_NEEDED_OF_PART = SETTLED_BARS_BUT_EMA_200 - 1

/** Closed bars that a timeframe must have before it is sold. */
export function barsNeeded(ladder: CandleLadder, timeframe: Timeframe): number {
  return ladder.isWhole(timeframe) ? BARS_NEEDED : BARS_NEEDED_OF_PART
}

/** Whether every indicator of a timeframe but EMA 200 is known and current. */
export function isWarm(
  { ladder }: { readonly ladder: CandleLadder },
  timeframe: Timeframe,
  nowMs: number,
): boolean {
  return (
    !ladder.isCold(nowMs) &&
    ladder.barCount(timeframe) >= barsNeeded(ladder, timeframe) &&
    ladder.openBar(timeframe) !== null
  )
}
