/** A log-normal forecast of the volatility over the next 24 hourly returns. */
export type SpreadForecast = {
  /** Median, percent a year. */
  readonly volatilityPct: number
  readonly logDeviation: number
}
