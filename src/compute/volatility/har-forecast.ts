import { timeframeMs } from '../../domain/timeframe.ts'
import { medianOfSorted } from '../statistics/median.ts'
import { annualisedVolatilityPct } from './annualised-volatility.ts'
import { CLOSES_READ } from './hourly-closes.ts'
import type { HourlyVariance } from './hourly-variance.ts'
import { hourlyVariance, meanVariance } from './hourly-variance.ts'
import type { LinearFit } from './least-squares.ts'
import { LeastSquares } from './least-squares.ts'

const DAY_HOURS = 24
const WEEK_HOURS = 168
const MONTH_HOURS = 720

/**
 * Newest closes that are read: the 37 days that every coin keeps. 83 days are no better: median error 25.3 % instead of
 * 25.4 % on recorded candles of 13 coins.
 */
export const HAR_CLOSES_MAX = CLOSES_READ
/** Known closes needed for a forecast: 30 days. */
export const HAR_CLOSES_MIN = 720

/** Rows needed for a fit: two weeks of hours. */
const ROWS_MIN = 336
/** Evaluations needed for an error: a week of hours. */
const EVALUATIONS_MIN = 168

/**
 * Ridge penalty on the slopes, in units of squared log variance. 37 days hold only 5 separate weeks and one month, which
 * ordinary least squares overfits. Measured on Hyperliquid candles of 2024-25 (real-market.test.ts);
 * with 83 days the error is flat from 0.02 to 0.1.
 */
const SLOPE_PENALTY = 0.05

const REGRESSORS = 3

/** A past forecast and the realised value, annualised percent. */
export type OriginForecast = {
  /** Number of returns known at that time. */
  readonly hour: number
  readonly forecastPct: number
  /** Volatility of the 24 h before: "tomorrow equals today". */
  readonly naivePct: number
  /** Volatility of the 24 h after. */
  readonly realisedPct: number
}

export type HarForecast = {
  /**
   * Forecast median of close-to-close volatility over the next 24 hourly returns, percent per year. null below 720 known
   * closes, if the last day or week is unknown or constant, or without a fit.
   */
  readonly volatilityPct: number | null
  /** Known hourly closes used for the fit, at most {@link HAR_CLOSES_MAX}. */
  readonly fittedOnHours: number
  /** Median of |forecast - realised| / realised over the evaluations, percent; null for fewer than 168. */
  readonly outOfSampleErrorPct: number | null
  /** The same for the naive forecast. */
  readonly naiveErrorPct: number | null
  /** Past hours evaluated. Their 24 h targets overlap, so one in 24 is independent. */
  readonly evaluations: number
}

/**
 * Forecast of the next 24 h's realised volatility by the heterogeneous autoregressive model (Corsi, "A Simple
 * Approximate Long-Memory Model of Realized Volatility", Journal of Financial Econometrics 7, 2009), in logs:
 *
 *     ln V(t, t + 1 d) = b0 + b1 ln V(t - 1 d, t) + b2 ln V(t - 7 d, t) + b3 ln V(t - 30 d, t)
 *
 * V is the mean squared hourly return. Rows begin every hour and overlap, which leaves the coefficients consistent.
 * In logs, because one crash dominates a regression of variances, and no forecast can be negative. The forecast is
 * exp of the fitted mean log: the median of volatility where log errors are symmetric, and below its mean.
 *
 * The error is the median absolute percentage error of volatility: it matches a median forecast, is easy to read, and
 * stays finite for a coin that one hour dominates, unlike QLIKE.
 *
 * @param closes of successive hours, oldest first, the newest closed hour last; NaN where unknown
 */
export function harForecast(closes: ArrayLike<number>): HarForecast {
  const { series, knownCloses } = newestHours(closes)
  const { forecasts, nextPct } = rollingForecasts(series)
  const isEvaluated = forecasts.length >= EVALUATIONS_MIN
  const error = (read: (origin: OriginForecast) => number) =>
    isEvaluated ? medianErrorPct(forecasts, read) : null
  return {
    volatilityPct: knownCloses >= HAR_CLOSES_MIN ? nextPct : null,
    fittedOnHours: knownCloses,
    outOfSampleErrorPct: error(({ forecastPct }) => forecastPct),
    naiveErrorPct: error(({ naivePct }) => naivePct),
    evaluations: forecasts.length,
  }
}

/** Result of {@link rollingForecasts}. */
export type RollingForecasts = {
  readonly forecasts: readonly OriginForecast[]
  /** Forecast from the end of the series, percent per year; null without one. */
  readonly nextPct: number | null
  /** The fit behind `nextPct`: slopes of the logs of day, week and month. */
  readonly fit: LinearFit | null
}

/**
 * A forecast from each hour, oldest first, fitted only on data known at that hour: a row is added when its 24 h target
 * is complete. Refits every hour.
 * @param penalty of the slopes; 0 for ordinary least squares
 */
export function rollingForecasts(
  series: HourlyVariance,
  penalty: number = SLOPE_PENALTY,
): RollingForecasts {
  const regression = new LeastSquares(REGRESSORS)
  const forecasts: OriginForecast[] = []
  /** By hour; null where one of them is unknown or zero. */
  const rows: (readonly number[] | null)[] = []
  let nextPct: number | null = null
  let fit: LinearFit | null = null
  for (let hour = WEEK_HOURS; hour <= series.hours; hour += 1) {
    const logs = regressorsOf(series, hour)
    const [target] = logs
    const present = logs.every(Number.isFinite) ? logs : null
    rows[hour] = present
    const before = rows[hour - DAY_HOURS] ?? null
    if (Number.isFinite(target) && before !== null) regression.add(before, target)
    if (regression.rows < ROWS_MIN || present === null) continue
    const isLast = hour === series.hours
    const realisedPct = dayVolatilityPct(series, hour + DAY_HOURS)
    if (!isLast && !(realisedPct > 0)) continue
    const fitted = regression.fit(penalty)
    if (fitted === null) continue
    const forecastPct = volatilityPct(Math.exp(predicted(fitted, present)))
    if (isLast) [nextPct, fit] = [Number.isFinite(forecastPct) ? forecastPct : null, fitted]
    else
      forecasts.push({ hour, forecastPct, naivePct: dayVolatilityPct(series, hour), realisedPct })
  }
  return { forecasts, nextPct, fit }
}

function newestHours(closes: ArrayLike<number>) {
  const newest = Float64Array.from(
    { length: Math.min(closes.length, HAR_CLOSES_MAX) },
    (_, at) => closes[Math.max(0, closes.length - HAR_CLOSES_MAX) + at] as number,
  )
  const knownCloses = newest.reduce((count, close) => count + (close > 0 ? 1 : 0), 0)
  return { series: hourlyVariance(newest), knownCloses }
}

/**
 * Logs of the variance of the day, week and month that end with an hour. Of a series shorter than a month, the month is
 * all of it.
 * @param hour from the first week on
 */
function regressorsOf(series: HourlyVariance, hour: number): [number, number, number] {
  return [
    Math.log(meanVariance(series, hour, DAY_HOURS)),
    Math.log(meanVariance(series, hour, WEEK_HOURS)),
    Math.log(meanVariance(series, hour, Math.min(hour, MONTH_HOURS))),
  ]
}

function predicted({ intercept, slopes }: LinearFit, values: ArrayLike<number>): number {
  let sum = intercept
  for (let at = 0; at < values.length; at += 1)
    sum += (slopes[at] as number) * (values[at] as number)
  return sum
}

/** NaN if less than three quarters of the 24 h are known, or if they are not over. */
function dayVolatilityPct(series: HourlyVariance, endHour: number): number {
  return volatilityPct(meanVariance(series, endHour, DAY_HOURS))
}

function volatilityPct(hourVariance: number): number {
  return annualisedVolatilityPct(hourVariance, timeframeMs['1h'])
}

function medianErrorPct(
  forecasts: readonly OriginForecast[],
  read: (origin: OriginForecast) => number,
): number {
  const errors = forecasts.map(
    (origin) => (100 * Math.abs(read(origin) - origin.realisedPct)) / origin.realisedPct,
  )
  return medianOfSorted(Float64Array.from(errors).sort())
}
