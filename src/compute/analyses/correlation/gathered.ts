import type { MarketState } from '../../market/market-state.ts'
import { openInterestUsdOf } from '../../open-interest/open-interest-usd.ts'
import { hourlyCloses } from '../../volatility/hourly-closes.ts'
import type { CorrelationState } from './correlation-tracker.ts'
import { correlationTracker } from './correlation-tracker.ts'
import { HOUR_MS } from './correlation-window.ts'

/** What is known of the market at one moment; by row of the table of returns. NaN: unknown. */
export type GatheredReturns = CorrelationState & {
  /** Coins that trade. */
  readonly coinsTotal: number
  readonly openInterestUsd: Float64Array
  /** When the venue last vouched for a coin's candles. */
  readonly candlesConfirmedAtMs: Float64Array
  readonly contextReceivedAtMs: Float64Array
}

/** Copies no returns: they are shared, and stay as they are. */
export function gatherReturns(market: MarketState): GatheredReturns {
  const state = market.of(correlationTracker).state()
  const byRow = () => new Float64Array(state.coins.length).fill(Number.NaN)
  const [openInterestUsd, candlesConfirmedAtMs, contextReceivedAtMs] = [byRow(), byRow(), byRow()]
  let coinsTotal = 0
  for (const _ of market.coins()) coinsTotal += 1
  for (const [row, name] of state.coins.entries()) {
    const coin = market.coin(name)
    if (coin === undefined) continue
    const { context } = coin
    // History vouches for closed hours before the candles themselves are known.
    candlesConfirmedAtMs[row] = Number.isNaN(coin.candlesConfirmedAtMs)
      ? (coin.of(hourlyCloses).newestHour + 1) * HOUR_MS
      : coin.candlesConfirmedAtMs
    if (context === null) continue
    openInterestUsd[row] = openInterestUsdOf(coin)
    contextReceivedAtMs[row] = context.timeReceivedMs
  }
  return { ...state, coinsTotal, openInterestUsd, candlesConfirmedAtMs, contextReceivedAtMs }
}
