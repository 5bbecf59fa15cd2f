import type { CoinMarket } from '../market/coin-market.ts'
import { percentOf } from '../render/count-digits.ts'
import { rate } from '../render/significance.ts'
import { percentileOf, zScoreOf } from '../statistics/series-statistics.ts'
import { fundingSeries, MONTH_HOURS, WEEK_HOURS } from './funding-series.ts'
import { dexKindOf } from './premium.ts'

/**
 * Interest part of the venue's funding formula, an eighth of 0.01 % an hour: the rate of a balanced market. Only for
 * the venue's own perpetuals: a builder sets interest, clamp and multiplier of each coin (venue docs, HIP-3).
 */
export const BASELINE_RATE_HOURLY = 0.0000125
const LONG_PAYING_BASELINES = 1.5
/** With fewer hours a rank has no meaning. */
const RANKED_HOURS_MIN = WEEK_HOURS

export const FUNDING_INTERVAL_HOURS = 1
const HOURS_PER_DAY = 24
const DAYS_PER_YEAR = 365

/**
 * Percentiles, as shown, from which a rate is unusual on the paying side: about 1 and 2 standard deviations of a normal
 * distribution, and beyond every hour of the month. Ranks, because most hours have exactly the baseline rate and would give any other rate a large
 * z-score.
 */
const CROWDED_PERCENTILES = { MODERATE: 85, HIGH: 98, EXTREME: 100 } as const

export const fundingBiases = ['LONG_PAYING', 'SHORT_PAYING', 'NEUTRAL', 'UNKNOWN'] as const
export type FundingBias = (typeof fundingBiases)[number]

export const crowdings = ['LOW', 'MODERATE', 'HIGH', 'EXTREME', 'UNKNOWN'] as const
export type Crowding = (typeof crowdings)[number]

/** A coin's current funding rate against the baseline and its own history. */
export type FundingTilt = {
  /** Running estimate of the next hourly rate, as a fraction; positive: longs pay shorts. */
  readonly rateHourly: number
  readonly annualizedPct: number
  readonly bias: FundingBias
  /** Rank among the coin's hours of the last 30 days, as shown; null for fewer than 168 hours. */
  readonly percentile: number | null
  /** Against the same hours; null also where all their rates are equal. */
  readonly zscore: number | null
  /** Known hours of the last 30 days. */
  readonly rankedHours: number
  readonly crowding: Crowding
}

/** @returns null before a context was received; callers judge its age */
export function fundingTilt(coin: CoinMarket): FundingTilt | null {
  const { listing, context } = coin
  if (context === null) return null
  const rateHourly = context.fundingRateHourly
  const bias = dexKindOf(listing.coin) === 'main' ? fundingBiasOf(rateHourly) : 'UNKNOWN'
  const month = coin.of(fundingSeries).windows(context.timeExchangeMs).over(MONTH_HOURS)
  const isRanked = month.count >= RANKED_HOURS_MIN
  const z = isRanked ? zScoreOf(month, rateHourly) : Number.NaN
  const percentile = isRanked
    ? percentOf(percentileOf(month.ascending, rateHourly), month.count)
    : null
  return {
    rateHourly,
    annualizedPct: annualizedPctOf(rateHourly, FUNDING_INTERVAL_HOURS),
    bias,
    percentile,
    zscore: Number.isNaN(z) ? null : z,
    rankedHours: month.count,
    crowding: crowdingOf(bias, percentile),
  }
}

/** Simple annual percentage of a rate per interval. */
export function annualizedPctOf(rate: number, intervalHours: number): number {
  return rate * (HOURS_PER_DAY / intervalHours) * DAYS_PER_YEAR * 100
}

/** Tilt against the baseline of the venue's own perpetuals, of the rate as printed. Its sign says which side pays. */
export function fundingBiasOf(exactRateHourly: number): FundingBias {
  const rateHourly = rate(exactRateHourly)
  if (rateHourly > LONG_PAYING_BASELINES * BASELINE_RATE_HOURLY) return 'LONG_PAYING'
  return rateHourly < 0 ? 'SHORT_PAYING' : 'NEUTRAL'
}

/** How unusual the rate is for the paying side; LOW for a neutral rate, whatever its rank. */
function crowdingOf(bias: FundingBias, percentile: number | null): Crowding {
  if (bias === 'UNKNOWN' || percentile === null) return 'UNKNOWN'
  if (bias === 'NEUTRAL') return 'LOW'
  const rank = bias === 'LONG_PAYING' ? percentile : 100 - percentile
  if (rank >= CROWDED_PERCENTILES.EXTREME) return 'EXTREME'
  if (rank >= CROWDED_PERCENTILES.HIGH) return 'HIGH'
  return rank >= CROWDED_PERCENTILES.MODERATE ? 'MODERATE' : 'LOW'
}
