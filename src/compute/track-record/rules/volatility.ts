import { timeframeMs } from '../../../domain/timeframe.ts'
import type { Claim } from '../../../domain/track-record.ts'
import { logNormalQuantiles } from '../../statistics/log-normal-quantiles.ts'
import { annualisedVolatilityPct } from '../../volatility/annualised-volatility.ts'
import { blendedForecast, spreadOfHar } from '../../volatility/blended-forecast.ts'
import { ewmaForecast } from '../../volatility/ewma-forecast.ts'
import type { HarForecast } from '../../volatility/har-forecast.ts'
import { HAR_CLOSES_MAX, harForecast } from '../../volatility/har-forecast.ts'
import type { HourlyCloses } from '../../volatility/hourly-closes.ts'
import { hourlyCloses } from '../../volatility/hourly-closes.ts'
import { hourlyVariance, meanVariance } from '../../volatility/hourly-variance.ts'
import type { SpreadForecast } from '../../volatility/spread-forecast.ts'
import type { Observed, Rule, ValueOutcome } from '../rule.ts'
import { DAY_MS, HOUR_MS } from '../rule.ts'

const DAY_HOURS = 24

/**
 * Realised volatility of the next 24 hourly returns, percent a year, against EWMA with the spread of its own past
 * errors: both forecasts of `/volatility`.
 */
export const volatilityRules: readonly Rule[] = [
  volatilityRule('volatility.har@1', spreadOfHar),
  volatilityRule('volatility.blend@1', blendedForecast),
]

function volatilityRule(
  id: Rule['id'],
  forecastOf: (har: HarForecast, closes: Float64Array) => SpreadForecast | null,
): Rule {
  return {
    id,
    form: 'quantiles',
    horizonMs: () => DAY_MS,
    make({ coin }) {
      const closes = closesOf(coin.of(hourlyCloses))
      const forecast = forecastOf(harForecast(closes), closes)
      const ewma = ewmaForecast(closes)
      if (forecast === null || ewma === null) return null
      return {
        statement: {
          form: 'quantiles',
          values: logNormalQuantiles(forecast.volatilityPct, forecast.logDeviation),
          control: logNormalQuantiles(ewma.volatilityPct, ewma.logDeviation),
        },
        reference: [],
      }
    },
    outcome: realisedVolatility,
  }
}

/** Of the 24 hourly returns after the claim, percent a year. */
export function realisedVolatility({ madeAtMs }: Claim, { bars }: Observed): ValueOutcome | null {
  const closes = Array.from({ length: DAY_HOURS + 1 }, (_, hour) =>
    bars.closeAt(madeAtMs + hour * HOUR_MS),
  )
  if (closes.some(Number.isNaN)) return null
  const variance = meanVariance(hourlyVariance(closes), DAY_HOURS, DAY_HOURS)
  return { kind: 'value', value: annualisedVolatilityPct(variance, timeframeMs['1h']) }
}

/** The newest hours; all NaN before any. */
function closesOf(hourly: HourlyCloses): Float64Array {
  const first = hourly.newestHour - HAR_CLOSES_MAX + 1
  return Float64Array.from({ length: HAR_CLOSES_MAX }, (_, at) => hourly.close(first + at))
}
