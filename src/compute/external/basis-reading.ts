import type { ContextEvent } from '../../domain/event.ts'
import { assetOf } from '../../domain/external.ts'
import { quotedPrice } from '../book/best-quote.ts'
import type { CoinMarket } from '../market/coin-market.ts'
import type { MarketState } from '../market/market-state.ts'
import { bps } from '../render/significance.ts'
import { driftBpsPerRootSecond } from '../volatility/drift.ts'
import type { OracleChoice } from './oracle-choice.ts'
import type { OracleReading } from './oracle-reading.ts'
import { oracleTrust } from './oracle-trust.ts'
import { movedBandBps, triggerOf } from './source-error.ts'
import type { StableUsd } from './stable-usd.ts'
import { stableUsd } from './stable-usd.ts'

const BPS = 10_000

/** The venue's prices of a coin against the price of an oracle network. Prices are of one coin of the venue. */
export type BasisReading = {
  readonly context: ContextEvent
  readonly oracle: OracleReading
  readonly choice: OracleChoice
  /** Units of the asset in one coin of the venue. */
  readonly scale: number
  readonly spotPrice: number
  /** The venue's oracle price against the network; positive: the venue is higher. */
  readonly basisBps: number
  /** The same with the USD price of USDT applied; NaN where unknown. */
  readonly usdAdjustedBps: number
  readonly usdt: StableUsd | null
  readonly markBps: number
  /** NaN without a two-sided quote. */
  readonly midBps: number
  /** Mark price against the venue's own oracle. */
  readonly premiumBps: number
  readonly skewMs: number
  readonly band: BasisBand
}

/** Noise of a basis: a smaller one has no meaning. */
type BasisBand = {
  /** Confidence that the network states; 0 for none. */
  readonly confidenceBps: number
  readonly resolutionBps: number
  /** Two standard deviations of the price move between both timestamps, at most the feed's trigger. */
  readonly ageBps: number
  /** Sum of `confidenceBps` and `ageBps` as printed. */
  readonly totalBps: number
}

/** @returns null without a price of the venue or of any network */
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
    midBps: aboveBps(quotedPrice(coin.quote) ?? Number.NaN, spotPrice),
    premiumBps: aboveBps(markPrice, oraclePrice),
    skewMs,
    band: bandOf(oracle, context, driftBpsPerRootSecond(coin)),
  }
}

/** Relative distance of one price above another, bps of the other. */
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
    totalBps: bps(bps(confidenceBps) + bps(ageBps)),
  }
}
