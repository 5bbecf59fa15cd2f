/** A perpetual trades every day: no trading-day convention applies. */
const YEAR_MS = 365 * 24 * 3_600_000

/**
 * Annualised volatility, percent: 100 x sqrt(variance of one bar x bars in 365 days). Scaling by the root of time
 * assumes that the returns of successive bars are uncorrelated.
 * @param barVariance variance of the log return of one bar; NaN stays NaN
 */
export function annualisedVolatilityPct(barVariance: number, barMs: number): number {
  return 100 * Math.sqrt((barVariance * YEAR_MS) / barMs)
}
