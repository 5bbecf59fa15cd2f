import type { CoinMarket } from './coin-market.ts'

/** One side, at the mark price. NaN where the venue has not told it, or no source says what its unit is worth. */
export function openInterestUsdOf({ context, collateral }: CoinMarket): number {
  if (context === null) return Number.NaN
  return context.openInterestBase * context.markPrice * collateral.usdPerUnit
}
