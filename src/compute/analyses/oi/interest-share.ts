import type { CoinMarket } from '../../market/coin-market.ts'
import type { MarketState } from '../../market/market-state.ts'
import { openInterestUsdOf } from '../../open-interest/open-interest-usd.ts'

/** Share of coins with data that the total needs. */
const KNOWN_SHARE_MIN = 0.9

/**
 * The coin's share of the open interest of all listed coins in USD, 0 to 1.
 * @returns null while too few coins have data, or without open interest
 */
export function interestShare(coin: CoinMarket, market: MarketState): number | null {
  let [coins, known, totalUsd] = [0, 0, 0]
  for (const one of market.coins()) {
    coins += 1
    const openUsd = openInterestUsdOf(one)
    if (Number.isNaN(openUsd)) continue
    known += 1
    totalUsd += openUsd
  }
  const ownUsd = openInterestUsdOf(coin)
  if (Number.isNaN(ownUsd) || known < KNOWN_SHARE_MIN * coins || totalUsd === 0) return null
  return ownUsd / totalUsd
}
