import { isoInstant } from '../../../domain/instant.ts'
import type { Side } from '../../liquidation/leverage-ladder.ts'
import { liquidationCoverage } from '../../liquidation/liquidation-coverage.ts'
import type { LiquidationExposure } from '../../liquidation/liquidation-exposure.ts'
import { liquidationFlow } from '../../liquidation/liquidation-flow.ts'
import type { RealisedSide } from '../../liquidation/realised-liquidations.ts'
import {
  areTradesReceived,
  REALISED_MS,
  realisedLiquidations,
} from '../../liquidation/realised-liquidations.ts'
import type { CoinMarket } from '../../market/coin-market.ts'
import type { MarketState } from '../../market/market-state.ts'
import type { usdOf } from '../../render/quote-unit.ts'
import { bps } from '../../render/significance.ts'

type InUsd = ReturnType<typeof usdOf>

/** Liquidations of the last 24 hours that the venue has confirmed, and which part of the market was observed. */
export function realisedMembers(
  coin: CoinMarket,
  market: MarketState,
  exposure: LiquidationExposure,
  dollars: InUsd,
) {
  const realised = coin.of(realisedLiquidations)
  const { marketShare, vaults } = market.of(liquidationCoverage).at(market.venueMs)
  const atMs = market.venueMs
  const isComplete = marketShare === 1 && realised.isWhole(atMs)
  const { newestMs, observedFromMs } = realised
  const isObserved = !Number.isNaN(observedFromMs) && areTradesReceived(coin, market)
  return {
    longs: sideMembers(realised.side('long', atMs), dollars),
    shorts: sideMembers(realised.side('short', atMs), dollars),
    newest_iso: newestMs > atMs - REALISED_MS ? isoInstant(newestMs) : null,
    coverage: {
      observed_since_iso: isObserved ? isoInstant(observedFromMs) : null,
      longs_followed_pct: bps(followedPct(coin, exposure, 'long')),
      shorts_followed_pct: bps(followedPct(coin, exposure, 'short')),
      liquidator_vaults: vaults,
      // 100 only if nothing is missing.
      market_wide_pct: isComplete ? 100 : Math.min(99.99, bps(100 * marketShare)),
    },
  }
}

function sideMembers({ notional, count, largest, byMethod }: RealisedSide, dollars: InUsd) {
  return {
    notional_usd: dollars(notional),
    count,
    largest_usd: dollars(largest),
    by_method: { market: dollars(byMethod.market), backstop: dollars(byMethod.backstop) },
  }
}

/** Share of a side's open interest in positions of known accounts. */
function followedPct(coin: CoinMarket, { openInterestBase }: LiquidationExposure, side: Side) {
  let followedBase = 0
  for (const position of coin.of(liquidationFlow).observed.values())
    if (position.side === side) followedBase += position.sizeBase
  return openInterestBase > 0 ? Math.min(100, (followedBase / openInterestBase) * 100) : 0
}
