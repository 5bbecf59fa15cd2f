export const volatilityRegimes = ['LOW', 'NORMAL', 'HIGH', 'EXTREME'] as const
export type VolatilityRegime = (typeof volatilityRegimes)[number]

/** From NORMAL up, each begins at its percentile. */
const STARTS = [20, 80, 95] as const

/** What the percentile of a coin's ATR % among its own 30 days is called. */
export function volatilityRegimeOf(percentile: number): VolatilityRegime {
  const begun = STARTS.filter((start) => percentile >= start).length
  return volatilityRegimes[begun] as VolatilityRegime
}
