import type { CoinMarket } from '../market/coin-market.ts'

/** One side, at the mark price. NaN before a context was received, and while the collateral has no USD price. */
export function openInterestUsdOf({ context, collateral }: CoinMarket): number {
  if (context === null) return Number.NaN
  return context.openInterestBase * context.markPrice * collateral.usdPerUnit
}
