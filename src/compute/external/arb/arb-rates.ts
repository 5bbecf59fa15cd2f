import type { MarketState } from '../../market/market-state.ts'
import { exchangePrices, venueUsd } from '../exchange-reference.ts'
import { oracleTrust } from '../oracle-trust.ts'
import { stableUsd } from '../stable-usd.ts'
import type { Rates } from './arb-cells.ts'
import type { ArbAsset } from './arb-model.ts'

/** Rates of exchanges and oracle networks for the units of chains. */
export type ExternalRates = Rates & {
  /** Consensus price of the exchanges; NaN where unknown. */
  readonly exchanges: (asset: ArbAsset) => number
  /** Confirmation time of the oldest stablecoin rate; NaN where one is unknown. */
  readonly stablesAsOfMs: number
  /** Confirmation time of the oldest exchange price; NaN where none is known. */
  readonly exchangesAsOfMs: number
}

export function externalRates(market: MarketState, nowMs: number): ExternalRates {
  const { external } = market
  const stables = {
    USDC: stableUsd('USDC', external, nowMs),
    USDT: stableUsd('USDT', external, nowMs),
  }
  const priced = (asset: 'ETH' | 'BTC') =>
    exchangePrices(asset, external, venuePrice(market, asset, nowMs), nowMs).reference
  const majors = { ETH: priced('ETH'), BTC: priced('BTC') }
  const asOf = [majors.ETH, majors.BTC].flatMap((one) => (one === null ? [] : [one.asOfMs]))
  return {
    quote: (quote) => stables[quote]?.priceUsd ?? Number.NaN,
    native: (asset) => nativeUsd(market, asset, nowMs),
    exchanges: (asset) =>
      (asset === 'USDC' ? stables.USDC?.priceUsd : majors[asset]?.midUsd) ?? Number.NaN,
    stablesAsOfMs: Math.min(stables.USDC?.asOfMs ?? Number.NaN, stables.USDT?.asOfMs ?? Number.NaN),
    exchangesAsOfMs: asOf.length === 0 ? Number.NaN : Math.min(...asOf),
  }
}

/** Price by the network chosen for the asset. */
function nativeUsd(market: MarketState, asset: string, nowMs: number): number {
  const { best } = market.of(oracleTrust).choose(asset, market, nowMs)
  return best?.priceUsd ?? venuePrice(market, asset, nowMs)
}

/** Price by the venue's oracle; NaN where unknown. These assets have coins of scale 1. */
function venuePrice(market: MarketState, asset: string, nowMs: number): number {
  return venueUsd(market.coinOf(asset)?.context, 1, market.external, nowMs)
}
