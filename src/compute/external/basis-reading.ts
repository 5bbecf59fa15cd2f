import type { ContextEvent } from '../../domain/event.ts'
import { assetOf } from '../../domain/external.ts'
import { midOf } from '../book/best-quote.ts'
import type { CoinMarket } from '../market/coin-market.ts'
import type { MarketState } from '../market/market-state.ts'
import { driftBpsPerRootSecond } from '../volatility/drift.ts'
import type { OracleChoice } from './oracle-choice.ts'
import type { OracleReading } from './oracle-reading.ts'
import { oracleTrust } from './oracle-trust.ts'
import { movedBandBps, triggerOf } from './source-error.ts'
import type { StableUsd } from './stable-usd.ts'
import { stableUsd } from './stable-usd.ts'

const BPS = 10_000

/** The venue's own prices of a coin against what an oracle network says it is worth. Prices are of one coin of the venue. */
export type BasisReading = {
  readonly context: ContextEvent
  readonly oracle: OracleReading
  readonly choice: OracleChoice
  /** Units of the asset that one coin of the venue stands for. */
  readonly scale: number
  readonly spotPrice: number
  /** Of the venue's oracle; positive: it stands above the network. */
  readonly basisBps: number
  /** With what USDT is worth taken into account; NaN where nobody knows. */
  readonly usdAdjustedBps: number
  readonly usdt: StableUsd | null
  readonly markBps: number
  /** NaN without a two-sided quote. */
  readonly midBps: number
  /** Mark against the venue's own oracle. */
  readonly premiumBps: number
  readonly skewMs: number
  readonly band: BasisBand
}

/** What a basis has to exceed to be more than noise. */
type BasisBand = {
  /** What the network states; 0 where it states nothing. */
  readonly confidenceBps: number
  readonly resolutionBps: number
  /** Two deviations of what the price moved between the two stamps, at most the feed's trigger. */
  readonly ageBps: number
  readonly totalBps: number
}

/** @returns null where the venue or every network is silent about the coin */
export function readBasis(
  coin: CoinMarket,
  market: MarketState,
  nowMs: number,
): BasisReading | null {
  const made = assetOf(coin.listing.coin)
  const { context } = coin
  if (made === null || context === null || !(context.oraclePrice > 0)) return null
  const choice = market.of(oracleTrust).choose(made.asset, market, nowMs)
  const oracle = choice.best
  if (oracle === null) return null
  const { oraclePrice, markPrice } = context
  const spotPrice = oracle.priceUsd * made.scale
  const usdt = stableUsd('USDT', market.external, nowMs)
  const skewMs = Math.abs(context.timeReceivedMs - oracle.publishedAtMs)
  return {
    context,
    oracle,
    choice,
    scale: made.scale,
    spotPrice,
    basisBps: aboveBps(oraclePrice, spotPrice),
    usdAdjustedBps: aboveBps(oraclePrice * (usdt?.priceUsd ?? Number.NaN), spotPrice),
    usdt,
    markBps: aboveBps(markPrice, spotPrice),
    midBps: aboveBps(midOf(coin.quote) ?? Number.NaN, spotPrice),
    premiumBps: aboveBps(markPrice, oraclePrice),
    skewMs,
    band: bandOf(oracle, context, driftBpsPerRootSecond(coin)),
  }
}

/** How far one price stands above another, bps of the other. */
export function aboveBps(price: number, other: number): number {
  return ((price - other) / other) * BPS
}

function bandOf(oracle: OracleReading, context: ContextEvent, driftBps: number): BasisBand {
  const ageMs = Math.abs(context.timeReceivedMs - oracle.publishedAtMs)
  const unreadMs = Math.max(0, context.timeReceivedMs - oracle.receivedAtMs)
  const ageBps = movedBandBps(driftBps, { ageMs, unreadMs, ...triggerOf(oracle) })
  const confidenceBps = oracle.confidenceBps ?? 0
  return {
    confidenceBps,
    resolutionBps: oracle.resolutionBps,
    ageBps,
    totalBps: confidenceBps + ageBps,
  }
}
