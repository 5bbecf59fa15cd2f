import type { CoinMarket } from './coin-market.ts'
import { MONTH_HOURS, WEEK_HOURS } from './funding-series.ts'
import { percentileOf, zScoreOf } from './series-statistics.ts'

/** The interest part of the venue's formula, an eighth of 0.01 % an hour: what a balanced market pays. */
const BASELINE_RATE_HOURLY = 0.0000125
const LONG_PAYING_BASELINES = 1.5
/** Fewer hours say nothing about how unusual a rate is. */
const RANKED_HOURS_MIN = WEEK_HOURS

export const FUNDING_INTERVAL_HOURS = 1
const HOURS_PER_DAY = 24
const DAYS_PER_YEAR = 365

export const fundingBiases = ['LONG_PAYING', 'SHORT_PAYING', 'NEUTRAL'] as const
export type FundingBias = (typeof fundingBiases)[number]

export const crowdings = ['LOW', 'MODERATE', 'HIGH', 'EXTREME', 'UNKNOWN'] as const
type Crowding = (typeof crowdings)[number]

/** Where a coin's running funding rate stands. */
export type FundingTilt = {
  /** Running estimate of the next hourly rate, as a fraction; positive: longs pay shorts. */
  readonly rateHourly: number
  readonly annualizedPct: number
  readonly bias: FundingBias
  /** Rank among the coin's own hours of the last 30 days; null for fewer than 168 of them. */
  readonly percentile: number | null
  /** Against the same hours; null also when all their rates are equal. */
  readonly zscore: number | null
  readonly crowding: Crowding
}

/** @returns null before the venue told anything; how old it is, is for the caller to ask the context. */
export function fundingTilt({ context, trackers }: CoinMarket): FundingTilt | null {
  if (context === null) return null
  const rateHourly = context.fundingRateHourly
  const month = trackers.funding.windows(context.timeExchangeMs).over(MONTH_HOURS)
  const isRanked = month.count >= RANKED_HOURS_MIN
  const z = isRanked ? zScoreOf(month, rateHourly) : Number.NaN
  const zscore = Number.isNaN(z) ? null : z
  return {
    rateHourly,
    annualizedPct: annualizedPctOf(rateHourly, FUNDING_INTERVAL_HOURS),
    bias: fundingBiasOf(rateHourly),
    percentile: isRanked ? percentileOf(month.ascending, rateHourly) : null,
    zscore,
    crowding: crowdingOf(zscore),
  }
}

/** A rate for one interval as simple percent a year. */
export function annualizedPctOf(rate: number, intervalHours: number): number {
  return rate * (HOURS_PER_DAY / intervalHours) * DAYS_PER_YEAR * 100
}

/** A tilt against the baseline; who literally pays is the sign of the rate. */
export function fundingBiasOf(rateHourly: number): FundingBias {
  if (rateHourly > LONG_PAYING_BASELINES * BASELINE_RATE_HOURLY) return 'LONG_PAYING'
  return rateHourly < 0 ? 'SHORT_PAYING' : 'NEUTRAL'
}

function crowdingOf(zscore: number | null): Crowding {
  if (zscore === null) return 'UNKNOWN'
  const distance = Math.abs(zscore)
  if (distance < 1) return 'LOW'
  if (distance < 2) return 'MODERATE'
  return distance < 3 ? 'HIGH' : 'EXTREME'
}
