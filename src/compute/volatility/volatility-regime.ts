export const volatilityRegimes = ['LOW', 'NORMAL', 'HIGH', 'EXTREME'] as const
export type VolatilityRegime = (typeof volatilityRegimes)[number]

/** Lower percentile of each label from NORMAL up. */
const STARTS = [20, 80, 95] as const

/** Label of a percentile of ATR % among the coin's own 30 days. */
export function volatilityRegimeOf(percentile: number): VolatilityRegime {
  const begun = STARTS.filter((start) => percentile >= start).length
  return volatilityRegimes[begun] as VolatilityRegime
}
