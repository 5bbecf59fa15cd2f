import { timeframeMs } from '../../../domain/timeframe.ts'
import { annualisedVolatilityPct } from '../../volatility/annualised-volatility.ts'
import { ewmaForecast } from '../../volatility/ewma-forecast.ts'
import { HAR_CLOSES_MAX, harForecast } from '../../volatility/har-forecast.ts'
import { hourlyCloses } from '../../volatility/hourly-closes.ts'
import { hourlyVariance, meanVariance } from '../../volatility/hourly-variance.ts'
import { logNormalQuantiles, MEDIAN_DEVIATIONS } from '../log-normal-quantiles.ts'
import type { Rule } from '../rule.ts'
import { DAY_MS, HOUR_MS } from '../rule.ts'

const DAY_HOURS = 24

/**
 * Realised volatility of the next 24 hourly returns, percent a year: the forecast of `/volatility` with the spread of
 * its published error, against EWMA with the spread of its own past errors.
 */
export const volatilityRule: Rule = {
  id: 'volatility.har@1',
  form: 'quantiles',
  horizonMs: () => DAY_MS,
  make({ coin }) {
    const hourly = coin.of(hourlyCloses)
    const { newestHour } = hourly
    if (Number.isNaN(newestHour)) return null
    const closes = Float64Array.from({ length: HAR_CLOSES_MAX }, (_, at) =>
      hourly.close(newestHour - HAR_CLOSES_MAX + 1 + at),
    )
    const { volatilityPct, outOfSampleErrorPct } = harForecast(closes)
    const control = ewmaForecast(closes)
    if (volatilityPct === null || outOfSampleErrorPct === null || control === null) return null
    const logDeviation = outOfSampleErrorPct / 100 / MEDIAN_DEVIATIONS
    return {
      statement: {
        form: 'quantiles',
        values: logNormalQuantiles(volatilityPct, logDeviation),
        control: logNormalQuantiles(control.volatilityPct, control.logDeviation),
      },
      reference: [],
    }
  },
  outcome({ madeAtMs }, { bars }) {
    const closes = Array.from({ length: DAY_HOURS + 1 }, (_, hour) =>
      bars.closeAt(madeAtMs + hour * HOUR_MS),
    )
    if (closes.some(Number.isNaN)) return null
    const variance = meanVariance(hourlyVariance(closes), DAY_HOURS, DAY_HOURS)
    return { kind: 'value', value: annualisedVolatilityPct(variance, timeframeMs['1h']) }
  },
}
