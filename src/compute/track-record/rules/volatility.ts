import { timeframeMs } from '../../../domain/timeframe.ts'
import type { Claim } from '../../../domain/track-record.ts'
import { annualisedVolatilityPct } from '../../volatility/annualised-volatility.ts'
import { ewmaForecast } from '../../volatility/ewma-forecast.ts'
import { HAR_CLOSES_MAX, harForecast } from '../../volatility/har-forecast.ts'
import type { HourlyCloses } from '../../volatility/hourly-closes.ts'
import { hourlyCloses } from '../../volatility/hourly-closes.ts'
import { hourlyVariance, meanVariance } from '../../volatility/hourly-variance.ts'
import { logNormalQuantiles, MEDIAN_DEVIATIONS } from '../log-normal-quantiles.ts'
import type { Observed, Rule, ValueOutcome } from '../rule.ts'
import { DAY_MS, HOUR_MS } from '../rule.ts'

const DAY_HOURS = 24

type Forecast = { readonly volatilityPct: number; readonly logDeviation: number }

/**
 * Realised volatility of the next 24 hourly returns, percent a year, against EWMA with the spread of its own past
 * errors: the forecast of `/volatility` with the spread of its published error, and the geometric mean of both.
 */
export const volatilityRules: readonly Rule[] = [
  volatilityRule('volatility.har@1', (har) => har),
  volatilityRule('volatility.blend@1', (har, ewma) => ({
    volatilityPct: Math.sqrt(har.volatilityPct * ewma.volatilityPct),
    logDeviation: (har.logDeviation + ewma.logDeviation) / 2,
  })),
]

function volatilityRule(
  id: Rule['id'],
  forecastOf: (har: Forecast, ewma: Forecast) => Forecast,
): Rule {
  return {
    id,
    form: 'quantiles',
    horizonMs: () => DAY_MS,
    make({ coin }) {
      const closes = closesOf(coin.of(hourlyCloses))
      const ewma = ewmaForecast(closes)
      const har = publishedForecast(closes)
      if (har === null || ewma === null) return null
      const { volatilityPct, logDeviation } = forecastOf(har, ewma)
      return {
        statement: {
          form: 'quantiles',
          values: logNormalQuantiles(volatilityPct, logDeviation),
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

function publishedForecast(closes: Float64Array): Forecast | null {
  const { volatilityPct, outOfSampleErrorPct } = harForecast(closes)
  if (volatilityPct === null || outOfSampleErrorPct === null) return null
  return { volatilityPct, logDeviation: outOfSampleErrorPct / 100 / MEDIAN_DEVIATIONS }
}

/** The newest hours; all NaN before any. */
function closesOf(hourly: HourlyCloses): Float64Array {
  const first = hourly.newestHour - HAR_CLOSES_MAX + 1
  return Float64Array.from({ length: HAR_CLOSES_MAX }, (_, at) => hourly.close(first + at))
}
