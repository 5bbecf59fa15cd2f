import type { CoinMarket } from '../../market/coin-market.ts'
import type { MarketState } from '../../market/market-state.ts'

/** With fewer of the coins known, the whole is not. */
const KNOWN_SHARE_MIN = 0.9

/**
 * The coin's share of the notional that is open in all coins that trade, 0 to 1.
 * @returns null while too few of them are known, or nothing is open
 */
export function interestShare(coin: CoinMarket, market: MarketState): number | null {
  let [coins, known, totalUsd] = [0, 0, 0]
  for (const { context } of market.coins()) {
    coins += 1
    if (context === null) continue
    known += 1
    totalUsd += context.openInterestBase * context.markPrice
  }
  if (coin.context === null || known < KNOWN_SHARE_MIN * coins || totalUsd === 0) return null
  return (coin.context.openInterestBase * coin.context.markPrice) / totalUsd
}
