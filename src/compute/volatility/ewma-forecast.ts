import { timeframeMs } from '../../domain/timeframe.ts'
import { annualisedVolatilityPct } from './annualised-volatility.ts'
import { hourlyVariance, meanVariance } from './hourly-variance.ts'
import type { SpreadForecast } from './spread-forecast.ts'

/** Weight of the past in each hour: half of it is from the last 23 hours. */
const DECAY = 0.97
const DAY_HOURS = 24
/** Past forecasts needed: two weeks of hours. */
const ORIGINS_MIN = 336

/**
 * Forecast of the next 24 hours' volatility by an exponentially weighted mean of squared hourly returns, times the
 * mean past ratio of what was realised to it.
 * @param closes of successive hours, oldest first; NaN where unknown
 * @returns null for too few hours, or without moves
 */
export function ewmaForecast(closes: ArrayLike<number>): SpreadForecast | null {
  const series = hourlyVariance(closes)
  const forecasts = ewmaVariances(series)
  let [origins, sum, squares] = [0, 0, 0]
  for (let hour = DAY_HOURS; hour + DAY_HOURS <= series.hours; hour += 1) {
    const realised = meanVariance(series, hour + DAY_HOURS, DAY_HOURS)
    const logRatio = Math.log(realised / (forecasts[hour] as number)) / 2
    if (!Number.isFinite(logRatio)) continue
    origins += 1
    sum += logRatio
    squares += logRatio ** 2
  }
  const mean = sum / origins
  const variance = (forecasts[series.hours] ?? Number.NaN) * Math.exp(2 * mean)
  if (origins < ORIGINS_MIN || !(variance > 0)) return null
  return {
    volatilityPct: annualisedVolatilityPct(variance, timeframeMs['1h']),
    logDeviation: Math.sqrt(Math.max(0, squares / origins - mean ** 2)),
  }
}

/** After each return; NaN before a day of returns. An unknown return leaves it as it is. */
function ewmaVariances({ hours, squares, known }: ReturnType<typeof hourlyVariance>): Float64Array {
  const variances = new Float64Array(hours + 1).fill(Number.NaN)
  let [variance, returns] = [0, 0]
  for (let hour = 1; hour <= hours; hour += 1) {
    if ((known[hour] as number) > (known[hour - 1] as number)) {
      const square = (squares[hour] as number) - (squares[hour - 1] as number)
      returns += 1
      variance += (square - variance) * Math.max(1 - DECAY, 1 / returns)
    }
    if (returns >= DAY_HOURS) variances[hour] = variance
  }
  return variances
}
