import type { MarketState } from '../../market/market-state.ts'
import { openInterestUsdOf } from '../../open-interest/open-interest-usd.ts'
import { hourlyCloses } from '../../volatility/hourly-closes.ts'
import type { CorrelationState } from './correlation-tracker.ts'
import { correlationTracker } from './correlation-tracker.ts'
import { RETURN_MS } from './correlation-window.ts'

/** Inputs of one `/correlation` answer, by row of the return table. NaN: unknown. */
export type GatheredReturns = CorrelationState & {
  /** Number of listed coins. */
  readonly coinsTotal: number
  readonly openInterestUsd: Float64Array
  /** Last confirmation of a coin's candles by the venue. */
  readonly candlesConfirmedAtMs: Float64Array
  readonly contextReceivedAtMs: Float64Array
}

/** Shares the returns without a copy; the table is copied on the next write. */
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
    // Before candles are received, history confirms the closed hours.
    candlesConfirmedAtMs[row] = Number.isNaN(coin.candlesConfirmedAtMs)
      ? (coin.of(hourlyCloses).newestHour + 1) * RETURN_MS
      : coin.candlesConfirmedAtMs
    if (context === null) continue
    openInterestUsd[row] = openInterestUsdOf(coin)
    contextReceivedAtMs[row] = context.timeReceivedMs
  }
  return { ...state, coinsTotal, openInterestUsd, candlesConfirmedAtMs, contextReceivedAtMs }
}
