import type { Timeframe } from '../../domain/timeframe.ts'
import { WARM_BARS } from '../indicators/warm-up.ts'
import type { CoinMarket } from './coin-market.ts'

/** Closed bars that a timeframe must have before it is sold: the longest window, EMA 200. */
export const BARS_NEEDED = WARM_BARS

/** Whether every indicator of a timeframe is known, and joined to the present. */
export function isWarm({ ladder }: CoinMarket, timeframe: Timeframe, nowMs: number): boolean {
  return (
    !ladder.isCold(nowMs) &&
    ladder.barCount(timeframe) >= BARS_NEEDED &&
    ladder.openBar(timeframe) !== null
  )
}
