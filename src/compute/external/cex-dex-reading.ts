import type { ContextEvent } from '../../domain/event.ts'
import { assetOf } from '../../domain/external.ts'
import type { CoinMarket } from '../market/coin-market.ts'
import type { MarketState } from '../market/market-state.ts'
import { bps } from '../render/significance.ts'
import { driftBpsPerRootSecond } from '../volatility/drift.ts'
import { aboveBps } from './basis-reading.ts'
import type { ExchangePrices, ExchangeReference } from './exchange-reference.ts'
import { exchangePrices, venueUsd } from './exchange-reference.ts'
import type { OracleChoice } from './oracle-choice.ts'
import type { OracleReading } from './oracle-reading.ts'
import { oracleTrust } from './oracle-trust.ts'
import type { PoolLeg } from './pool-prices.ts'
import { poolLegs } from './pool-prices.ts'
import { movedBandBps, triggerOf } from './source-error.ts'

/** Excess over the noise that makes a divergence actionable. */
const ACTIONABLE_BPS = 2

/** The price that exchanges are compared with, USD for one unit of the asset. */
export type DexLeg = {
  readonly priceUsd: number
  readonly asOfMs: number
  /** Lower bound of its uncertainty: the fee of a pool, or the confidence of a network. */
  readonly ownBps: number
  /** Standard deviation of its error now. */
  readonly expectedErrorBps: number
} & (
  | { readonly source: 'dex_pool'; readonly leg: PoolLeg }
  | { readonly source: 'oracle_network'; readonly oracle: OracleReading }
)

export type CexDexReading = {
  readonly context: ContextEvent
  /** Units of the asset in one coin of the venue. */
  readonly scale: number
  readonly cex: ExchangeReference
  readonly legs: ExchangePrices['legs']
  readonly dex: DexLeg
  readonly pools: readonly PoolLeg[]
  readonly choice: OracleChoice
  /** Positive: exchanges are higher. */
  readonly divergenceBps: number
  readonly noiseBps: number
  readonly skewMs: number
}

/** Missing side of the comparison; `venue` is a recent price of the venue's oracle, which detects a mix-up of assets. */
export type CexDexLack = 'venue' | 'exchange' | 'dex'

export function readCexDex(
  coin: CoinMarket,
  market: MarketState,
  nowMs: number,
): CexDexReading | CexDexLack {
  const made = assetOf(coin.listing.coin)
  if (made === null) return 'exchange'
  const { asset, scale } = made
  const { context } = coin
  const { external } = market
  const expectedUsd = venueUsd(context, scale, external, nowMs)
  if (context === null || !(expectedUsd > 0)) return 'venue'
  const { reference: cex, legs } = exchangePrices(asset, external, expectedUsd, nowMs)
  if (cex === null) return 'exchange'
  const driftBps = driftBpsPerRootSecond(coin)
  const pools = external.hasPool(asset)
    ? poolLegs(asset, external, expectedUsd, { nowMs, driftBps })
    : []
  const choice = market.of(oracleTrust).choose(asset, market, nowMs)
  const dex = dexLegOf(pools[0], choice.best)
  if (dex === null) return 'dex'
  const skewMs = Math.abs(cex.asOfMs - dex.asOfMs)
  return {
    context,
    scale,
    cex,
    legs,
    dex,
    pools,
    choice,
    divergenceBps: aboveBps(cex.midUsd, dex.priceUsd),
    noiseBps: noiseBps(cex, dex, driftBps),
    skewMs,
  }
}

/** The first pool, which has the lowest cost, if it is usable; else the chosen oracle network. */
function dexLegOf(pool: PoolLeg | undefined, oracle: OracleReading | null): DexLeg | null {
  if (pool !== undefined && pool.fault === null) {
    const { priceUsd, asOfMs, expectedErrorBps } = pool
    const ownBps = pool.pool.feeBps
    return { source: 'dex_pool', leg: pool, priceUsd, asOfMs, ownBps, expectedErrorBps }
  }
  if (oracle === null) return null
  return {
    source: 'oracle_network',
    oracle,
    priceUsd: oracle.priceUsd,
    asOfMs: oracle.publishedAtMs,
    ownBps: oracle.confidenceBps ?? 0,
    expectedErrorBps: oracle.expectedErrorBps,
  }
}

/** Noise of the divergence: half a spread, the uncertainty of the other leg, and the price move between both. */
function noiseBps(cex: ExchangeReference, dex: DexLeg, driftBps: number): number {
  const ageMs = Math.abs(cex.asOfMs - dex.asOfMs)
  const since =
    dex.source === 'dex_pool'
      ? { ageMs, unreadMs: 0, triggerBps: 0, delayMs: 0 }
      : {
          ageMs,
          unreadMs: Math.max(0, cex.asOfMs - dex.oracle.receivedAtMs),
          ...triggerOf(dex.oracle),
        }
  return cex.spreadBps / 2 + dex.ownBps + movedBandBps(driftBps, since)
}

/** Of the printed figures. */
export function isActionable({
  divergenceBps,
  noiseBps,
}: Pick<CexDexReading, 'divergenceBps' | 'noiseBps'>): boolean {
  return bps(Math.abs(divergenceBps)) > bps(bps(noiseBps) + ACTIONABLE_BPS)
}

/** Sign of an actionable divergence; 0 for another. */
export function actionableSide(reading: Pick<CexDexReading, 'divergenceBps' | 'noiseBps'>): number {
  return isActionable(reading) ? Math.sign(reading.divergenceBps) : 0
}

/** A weak oracle network is shown for lack of another, but not recorded. */
export function isSound({ dex, choice }: CexDexReading): boolean {
  return dex.source === 'dex_pool' || choice.weakness === null
}

/** Name of the other leg in a series, so that no history mixes two. */
export function dexName(dex: DexLeg): string {
  return dex.source === 'dex_pool' ? 'pool' : dex.oracle.network
}
