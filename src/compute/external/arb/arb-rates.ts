import type { MarketState } from '../../market/market-state.ts'
import { exchangePrices, venueUsd } from '../exchange-reference.ts'
import { oracleTrust } from '../oracle-trust.ts'
import { stableUsd } from '../stable-usd.ts'
import type { Rates } from './arb-cells.ts'
import type { ArbAsset } from './arb-model.ts'

/** What exchanges and oracle networks say about the coins that chains count in. */
export type ExternalRates = Rates & {
  /** What exchanges agree an asset to be worth; NaN for unknown. */
  readonly exchanges: (asset: ArbAsset) => number
  /** When the oldest of the rates of stablecoins was confirmed; NaN where one is unknown. */
  readonly stablesAsOfMs: number
  /** When the oldest of the exchanges' prices was; NaN where none is known. */
  readonly exchangesAsOfMs: number
}

/** The venue's own price of a chain's coin stands in where no network tells one. */
const VENUE_MS_MAX = 300_000

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

/** By the network that is chosen for the asset. */
function nativeUsd(market: MarketState, asset: string, nowMs: number): number {
  const { best } = market.of(oracleTrust).choose(asset, market, nowMs)
  return best?.priceUsd ?? venuePrice(market, asset, nowMs)
}

/** By the venue's oracle; NaN for unknown. These assets have coins of scale 1. */
function venuePrice(market: MarketState, asset: string, nowMs: number): number {
  const context = market.coinOf(asset)?.context
  if (context == null || nowMs - context.timeReceivedMs > VENUE_MS_MAX) return Number.NaN
  return venueUsd(context.oraclePrice, 1, market.external, nowMs)
}
