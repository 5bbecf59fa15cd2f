import type { CoinMarket } from '../market/coin-market.ts'

/** One side, at the mark price. NaN before the venue reported it, and while its unit has no price in USD. */
export function openInterestUsdOf({ context, collateral }: CoinMarket): number {
  if (context === null) return Number.NaN
  return context.openInterestBase * context.markPrice * collateral.usdPerUnit
}
