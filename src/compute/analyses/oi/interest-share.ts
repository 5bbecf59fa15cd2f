import { COIN_AGE_MS_MAX } from '../../market/cadence.ts'
import type { CoinMarket } from '../../market/coin-market.ts'
import type { MarketState } from '../../market/market-state.ts'
import { openInterestUsdOf } from '../../open-interest/open-interest-usd.ts'

/** Share of coins with recent data that the total needs. */
const KNOWN_SHARE_MIN = 0.9

/**
 * The coin's share of the open interest of all listed coins in USD, 0 to 1.
 * @returns null while too few coins have recent data, or without open interest
 */
export function interestShare(coin: CoinMarket, market: MarketState, nowMs: number): number | null {
  let [coins, known, totalUsd, ownUsd] = [0, 0, 0, Number.NaN]
  for (const one of market.coins()) {
    coins += 1
    const openUsd = recentUsdOf(one, nowMs)
    if (Number.isNaN(openUsd)) continue
    known += 1
    totalUsd += openUsd
    if (one === coin) ownUsd = openUsd
  }
  if (Number.isNaN(ownUsd) || known < KNOWN_SHARE_MIN * coins || totalUsd === 0) return null
  return ownUsd / totalUsd
}

/** NaN for an old figure as well. */
function recentUsdOf(coin: CoinMarket, nowMs: number): number {
  const isRecent = nowMs - (coin.context?.timeReceivedMs ?? Number.NaN) <= COIN_AGE_MS_MAX
  return isRecent ? openInterestUsdOf(coin) : Number.NaN
}
