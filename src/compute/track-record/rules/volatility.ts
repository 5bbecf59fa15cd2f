import { timeframeMs } from '../../../domain/timeframe.ts'
import type { Claim } from '../../../domain/track-record.ts'
import { logNormalQuantiles } from '../../statistics/log-normal-quantiles.ts'
import { annualisedVolatilityPct } from '../../volatility/annualised-volatility.ts'
import { spreadOfHar } from '../../volatility/blended-forecast.ts'
import { hourlyCloses } from '../../volatility/hourly-closes.ts'
import type { HourlyVolatility } from '../../volatility/hourly-forecasts.ts'
import { hourlyForecasts } from '../../volatility/hourly-forecasts.ts'
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
  volatilityRule('volatility.har@1', ({ forecast }) => spreadOfHar(forecast)),
  volatilityRule('volatility.blend@1', ({ blend }) => blend),
]

function volatilityRule(
  id: Rule['id'],
  forecastOf: (hourly: HourlyVolatility) => SpreadForecast | null,
): Rule {
  return {
    id,
    form: 'quantiles',
    horizonMs: () => DAY_MS,
    make({ coin }) {
      const hourly = coin.of(hourlyForecasts).of(coin.of(hourlyCloses))
      const forecast = forecastOf(hourly)
      const { ewma } = hourly
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
