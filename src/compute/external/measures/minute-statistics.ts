import type { MeasureLog } from '../../market/measure-log.ts'
import { percentileOf, statisticsOf } from '../../statistics/series-statistics.ts'

const MINUTE_MS = 60_000
const HOUR_MINUTES = 60
export const DAY_MINUTES = 1_440
export const WEEK_MINUTES = 10_080

/** Factor from the median absolute deviation to the standard deviation of a normal distribution. */
export const DEVIATIONS_PER_MAD = 1.4826
/** With fewer minutes a rank has no meaning. */
export const HOUR_MINUTES_MIN = 30
export const DAY_MINUTES_MIN = 240

/** Statistics of one window; NaN for too few values. */
export type WindowStatistics = {
  readonly n: number
  /** Fewer values give no rank and no z-score. */
  readonly nMin: number
  readonly mean: number
  readonly median: number
  /** Population standard deviation. */
  readonly deviation: number
  /** Median absolute deviation from the median. */
  readonly mad: number
  readonly min: number
  readonly max: number
  /** Rank among the values, 0 to 100, ties counted half. @param value in Float32, as in the log */
  readonly percentile: (value: number) => number
}

export type SortedWindow = WindowStatistics & {
  /** In Float32, as in the log. */
  readonly ascending: Float32Array
}

/** Statistics of one series over three windows. */
export type SeriesSummary = {
  readonly hour: WindowStatistics
  readonly day: WindowStatistics
  readonly week: WindowStatistics
  /** Half-life of a deviation, by AR(1) over the day; NaN where it does not revert or is unknown. */
  readonly halfLifeSeconds: number
}

export function seriesSummary(log: MeasureLog, series: string, nowMs: number): SeriesSummary {
  return {
    hour: sortedWindow(log, series, nowMs, { minutes: HOUR_MINUTES, nMin: HOUR_MINUTES_MIN }),
    day: unsortedWindow(log, series, nowMs, DAY_MINUTES),
    week: unsortedWindow(log, series, nowMs, WEEK_MINUTES),
    halfLifeSeconds: halfLifeSeconds(log.minutes(series, nowMs, DAY_MINUTES)),
  }
}

/** Statistics of the last day of one series. */
export function dayStatistics(log: MeasureLog, series: string, nowMs: number): SortedWindow {
  return sortedWindow(log, series, nowMs, { minutes: DAY_MINUTES, nMin: DAY_MINUTES_MIN })
}

/** Ranks by the log, because sorted values of every series would take 6 kB a day and 40 kB a week. */
function unsortedWindow(
  log: MeasureLog,
  series: string,
  nowMs: number,
  minutes: number,
): WindowStatistics {
  const nMin = DAY_MINUTES_MIN
  const { ascending: _, ...window } = sortedWindow(log, series, nowMs, { minutes, nMin })
  const fromMs = firstMsOf(nowMs, minutes)
  return { ...window, percentile: (value) => log.percentile(series, fromMs, nowMs, value) }
}

function sortedWindow(
  log: MeasureLog,
  series: string,
  nowMs: number,
  { minutes, nMin }: { readonly minutes: number; readonly nMin: number },
): SortedWindow {
  return windowStatistics(log.values(series, firstMsOf(nowMs, minutes), nowMs), nMin)
}

function firstMsOf(nowMs: number, minutes: number): number {
  return nowMs - minutes * MINUTE_MS + 1
}

export function windowStatistics(values: Float64Array, nMin: number): SortedWindow {
  const { count, mean, median, deviation, min, max, ...sorted } = statisticsOf(values)
  const ascending = Float32Array.from(sorted.ascending)
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
    ascending,
    percentile: (value) => percentileOf(ascending, value),
  }
}

/** Distance from the median in robust standard deviations; NaN for too few values, or a constant window. */
export function robustZ({ n, nMin, median, mad }: WindowStatistics, value: number): number {
  return n < nMin || !(mad > 0) ? Number.NaN : (value - median) / (DEVIATIONS_PER_MAD * mad)
}

/** Rank among the values of the window, 0 to 100, ties counted half; NaN for too few values. */
export function rankOf({ n, nMin, percentile }: WindowStatistics, value: number): number {
  return n < nMin ? Number.NaN : percentile(Math.fround(value))
}

/**
 * ln 0.5 / ln phi minutes, with phi the slope of the least-squares line from each minute to the next. Minutes beside a
 * gap form no pair.
 * @param minutes of a day, NaN where missing
 */
export function halfLifeSeconds(minutes: Float64Array): number {
  let [n, sumX, sumY, sumXX, sumXY] = [0, 0, 0, 0, 0]
  let before = Number.NaN
  // Subtracting a pivot avoids cancellation for a nearly constant series far from zero.
  let pivot = Number.NaN
  for (const reading of minutes) {
    if (Number.isNaN(pivot)) pivot = reading
    const value = reading - pivot
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
