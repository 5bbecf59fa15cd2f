import type { MeasureLog } from '../../market/measure-log.ts'
import { percentileOf, statisticsOf } from '../../statistics/series-statistics.ts'

const MINUTE_MS = 60_000
const HOUR_MINUTES = 60
const DAY_MINUTES = 1_440
const WEEK_MINUTES = 10_080

/** A standard deviation in median absolute deviations of a normal distribution. */
const DEVIATIONS_PER_MAD = 1.4826
/** Fewer minutes than these say nothing about where a value stands. */
export const HOUR_MINUTES_MIN = 30
export const DAY_MINUTES_MIN = 240

/** Of the values of one window; NaN where they are too few for it. */
export type WindowStatistics = {
  readonly n: number
  /** Fewer values than this give no rank and no z-score. */
  readonly nMin: number
  readonly mean: number
  readonly median: number
  /** Of the population. */
  readonly deviation: number
  /** Median absolute deviation from the median. */
  readonly mad: number
  readonly min: number
  readonly max: number
  /** To seven digits, as the log has them. */
  readonly ascending: Float32Array
}

/** One series by what the log remembers of it. */
export type SeriesSummary = {
  readonly hour: WindowStatistics
  readonly day: WindowStatistics
  readonly week: WindowStatistics
  /** Seconds in which a deviation halves, by AR(1) over the day; NaN where it does not revert or nobody knows. */
  readonly halfLifeSeconds: number
}

export function seriesSummary(log: MeasureLog, series: string, nowMs: number): SeriesSummary {
  const window = (minutes: number, nMin: number) =>
    windowStatistics(log.values(series, nowMs - minutes * MINUTE_MS + 1, nowMs), nMin)
  return {
    hour: window(HOUR_MINUTES, HOUR_MINUTES_MIN),
    day: window(DAY_MINUTES, DAY_MINUTES_MIN),
    week: window(WEEK_MINUTES, DAY_MINUTES_MIN),
    halfLifeSeconds: halfLifeSeconds(log, series, nowMs),
  }
}

export function windowStatistics(values: Float64Array, nMin: number): WindowStatistics {
  const { count, mean, median, deviation, min, max, ascending } = statisticsOf(values)
  const mad = statisticsOf(values.map((value) => Math.abs(value - median))).median
  return {
    n: count,
    nMin,
    mean,
    median,
    deviation,
    mad,
    min,
    max,
    ascending: Float32Array.from(ascending),
  }
}

/** Distance from the median in robust deviations; NaN for too few values, or a window that does not move. */
export function robustZ({ n, nMin, median, mad }: WindowStatistics, value: number): number {
  return n < nMin || !(mad > 0) ? Number.NaN : (value - median) / (DEVIATIONS_PER_MAD * mad)
}

/** Rank among the window's values, 0 to 100, equal ones counted half; NaN for too few values. */
export function rankOf({ n, nMin, ascending }: WindowStatistics, value: number): number {
  return n < nMin ? Number.NaN : percentileOf(ascending, Math.fround(value))
}

/**
 * ln 0.5 / ln phi minutes, with phi the slope of the least-squares line from each minute to the next one.
 * Minutes beside a hole make no pair.
 */
function halfLifeSeconds(log: MeasureLog, series: string, nowMs: number): number {
  const lastMs = Math.floor(nowMs / MINUTE_MS) * MINUTE_MS
  let [n, sumX, sumY, sumXX, sumXY] = [0, 0, 0, 0, 0]
  let before = Number.NaN
  // Far from zero, a flat series would be nothing but rounding.
  let pivot = Number.NaN
  for (let back = DAY_MINUTES - 1; back >= 0; back -= 1) {
    const told = log.near(series, lastMs - back * MINUTE_MS, 0)
    if (Number.isNaN(pivot)) pivot = told
    const value = told - pivot
    if (!Number.isNaN(before) && !Number.isNaN(value)) {
      n += 1
      sumX += before
      sumY += value
      sumXX += before * before
      sumXY += before * value
    }
    before = value
  }
  if (n < DAY_MINUTES_MIN) return Number.NaN
  const slope = (n * sumXY - sumX * sumY) / (n * sumXX - sumX * sumX)
  const isReverting = slope > 0 && slope < 1
  return isReverting ? (Math.log(0.5) / Math.log(slope)) * 60 : Number.NaN
}
