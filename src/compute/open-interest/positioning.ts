import type { CoinMarket } from '../market/coin-market.ts'
import { percent } from '../render/significance.ts'
import type { InterestChange } from './interest-series.ts'
import { interestSeries } from './interest-series.ts'

const HOUR_MS = 3_600_000

export const interestTrends = ['RISING', 'FALLING', 'FLAT', 'UNKNOWN'] as const
export type InterestTrend = (typeof interestTrends)[number]

export const divergences = ['BULLISH_DIV', 'BEARISH_DIV', 'NONE', 'UNKNOWN'] as const
type Divergence = (typeof divergences)[number]

export const positionings = [
  'LONG_BUILDUP',
  'SHORT_BUILDUP',
  'LONG_UNWIND',
  'SHORT_COVERING',
  'NEUTRAL',
  'UNKNOWN',
] as const
export type PositioningLabel = (typeof positionings)[number]

/** Thresholds over 4 h, percent. */
const POSITIONING_PRICE_PCT = 0.5
const POSITIONING_INTEREST_PCT = 1
const DIVERGENCE_PRICE_PCT = 1
const DIVERGENCE_INTEREST_PCT = 2

const TREND_PCT = 3
/** Factor of the coin's own standard deviation; it gives the fixed 3 % where that is 1.5 %. */
const TREND_DEVIATIONS = 2
const TREND_PCT_MIN = 0.5
const TREND_PCT_MAX = 20
/** A week of hourly readings. */
const MOVES_MIN = 168

/** Labels from the changes of open interest and price over four hours. */
export type Positioning = {
  readonly positioning: PositioningLabel
  readonly divergence: Divergence
  readonly trend: InterestTrend
  /** Threshold of a trend over 4 h, percent. */
  readonly trendThresholdPct: number
  /** Whether the threshold comes from the coin's own moves of the last 30 days. */
  readonly isOwnThreshold: boolean
  /** Change of contracts over about 4 h; null without a reading. */
  readonly delta4hPct: number | null
  readonly priceChange4hPct: number | null
}

/** @returns null before a context was received; callers judge its age */
export function positioningOf(coin: CoinMarket): Positioning | null {
  const { context } = coin
  if (context === null) return null
  const { moves } = coin.of(interestSeries).window(context.timeExchangeMs)
  const isOwnThreshold = moves.count >= MOVES_MIN
  const ownPct = Math.min(
    TREND_PCT_MAX,
    Math.max(TREND_PCT_MIN, TREND_DEVIATIONS * moves.deviation),
  )
  // Labels are judged on the printed figures, so that both agree.
  const trendThresholdPct = percent(isOwnThreshold ? ownPct : TREND_PCT)
  const change = coin.of(interestSeries).change(context, 4 * HOUR_MS)
  // NaN: nothing was open before.
  const known =
    change === null || Number.isNaN(change.interestPct)
      ? null
      : { interestPct: percent(change.interestPct), pricePct: percent(change.pricePct) }
  return {
    ...labelsOf(known, trendThresholdPct),
    trendThresholdPct,
    isOwnThreshold,
    delta4hPct: known?.interestPct ?? null,
    priceChange4hPct: change?.pricePct ?? null,
  }
}

type PrintedChange = Pick<InterestChange, 'interestPct' | 'pricePct'>

function labelsOf(change: PrintedChange | null, trendThresholdPct: number) {
  if (change === null)
    return { positioning: 'UNKNOWN', divergence: 'UNKNOWN', trend: 'UNKNOWN' } as const
  return {
    positioning: positioningLabelOf(change),
    divergence: divergenceOf(change),
    trend: trendOf(change.interestPct, trendThresholdPct),
  }
}

function positioningLabelOf({ interestPct, pricePct }: PrintedChange): PositioningLabel {
  const price = signBeyond(pricePct, POSITIONING_PRICE_PCT)
  const interest = signBeyond(interestPct, POSITIONING_INTEREST_PCT)
  if (price === 0 || interest === 0) return 'NEUTRAL'
  if (interest > 0) return price > 0 ? 'LONG_BUILDUP' : 'SHORT_BUILDUP'
  return price > 0 ? 'SHORT_COVERING' : 'LONG_UNWIND'
}

/** Positions are closed while the price moves: sellers are exhausted, or a rally consists of short covering. */
function divergenceOf({ interestPct, pricePct }: PrintedChange): Divergence {
  if (interestPct > -DIVERGENCE_INTEREST_PCT) return 'NONE'
  const price = signBeyond(pricePct, DIVERGENCE_PRICE_PCT)
  if (price === 0) return 'NONE'
  return price < 0 ? 'BULLISH_DIV' : 'BEARISH_DIV'
}

function trendOf(interestPct: number, thresholdPct: number): InterestTrend {
  if (Math.abs(interestPct) <= thresholdPct) return 'FLAT'
  return interestPct > 0 ? 'RISING' : 'FALLING'
}

/** 0 within the threshold. */
function signBeyond(value: number, threshold: number): number {
  return Math.abs(value) >= threshold ? Math.sign(value) : 0
}
