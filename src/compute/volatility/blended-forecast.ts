import { MEDIAN_DEVIATIONS } from '../statistics/log-normal-quantiles.ts'
import type { HarForecast } from './har-forecast.ts'
import type { SpreadForecast } from './spread-forecast.ts'

/** HAR with the spread of its published error; null without either. */
export function spreadOfHar({
  volatilityPct,
  outOfSampleErrorPct,
}: HarForecast): SpreadForecast | null {
  if (volatilityPct === null || outOfSampleErrorPct === null) return null
  return { volatilityPct, logDeviation: outOfSampleErrorPct / 100 / MEDIAN_DEVIATIONS }
}

/**
 * Geometric mean of HAR and EWMA, which beats both on recorded candles (docs/numbers/track-record.md): HAR reverts to
 * the month, EWMA follows the last day, and neither is right alone.
 * @param ewma of the closes that HAR was fitted on
 * @returns null without either
 */
export function blendedForecast(
  har: HarForecast,
  ewma: SpreadForecast | null,
): SpreadForecast | null {
  const one = spreadOfHar(har)
  if (one === null || ewma === null) return null
  return {
    volatilityPct: Math.sqrt(one.volatilityPct * ewma.volatilityPct),
    logDeviation: (one.logDeviation + ewma.logDeviation) / 2,
  }
}
