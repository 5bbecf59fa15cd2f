import { timeframeMs } from '../../domain/timeframe.ts'
import { percentileOf } from '../statistics/series-statistics.ts'
import { annualisedVolatilityPct } from './annualised-volatility.ts'
import { hourlyVariance, meanVariance } from './hourly-variance.ts'

const DAY_HOURS = 24
/** 30 days: one reading an hour. */
export const RANK_WINDOW_HOURS = 720
/** Readings needed for a percentile: a week. */
const READINGS_MIN = 168

/** Closes that {@link volatilityRank} reads: 720 windows of 24 returns. */
export const RANK_CLOSES = RANK_WINDOW_HOURS + DAY_HOURS

/** Rank of the present 24 h volatility among its readings at the hours of the last 30 days. */
export type VolatilityRank = {
  /** 100 x (readings below + half of those equal) / readings, the present one among them; null below 168. */
  readonly percentile: number | null
  readonly readings: number
  /** From the first reading to the newest closed hour. */
  readonly spanHours: number
  /** The present reading, percent per year; null with fewer than 18 of its 24 returns. */
  readonly volatilityPct: number | null
}

/**
 * Ranks close-to-close volatility over 24 hourly returns, read at the end of each hour. All readings use hourly bars,
 * so they are comparable; 15m bars give another level.
 * @param closes of successive hours, oldest first, the newest closed hour last; NaN where unknown
 */
export function volatilityRank(closes: ArrayLike<number>): VolatilityRank {
  const series = hourlyVariance(newest(closes))
  const values = new Float64Array(RANK_WINDOW_HOURS)
  let [readings, spanHours] = [0, 0]
  for (let hour = DAY_HOURS; hour <= series.hours; hour += 1) {
    const variance = meanVariance(series, hour, DAY_HOURS)
    if (Number.isNaN(variance)) continue
    if (readings === 0) spanHours = series.hours - hour + 1
    values[readings] = annualisedVolatilityPct(variance, timeframeMs['1h'])
    readings += 1
  }
  const present = annualisedVolatilityPct(
    meanVariance(series, series.hours, DAY_HOURS),
    timeframeMs['1h'],
  )
  if (Number.isNaN(present)) return { percentile: null, readings, spanHours, volatilityPct: null }
  const ascending = values.subarray(0, readings).toSorted()
  const percentile = readings < READINGS_MIN ? null : percentileOf(ascending, present)
  return { percentile, readings, spanHours, volatilityPct: present }
}

/** The closes that are read; running sums over older hours would round the same readings differently. */
function newest(closes: ArrayLike<number>): Float64Array {
  const from = Math.max(0, closes.length - RANK_CLOSES)
  return Float64Array.from({ length: closes.length - from }, (_, at) => closes[from + at] as number)
}
