/** Recent hours of every coin, as the document `/overview` has them; lists begin with the oldest hour. */
export type Overview = {
  /** Unix ms of the first hour of each list; null while nothing is known. */
  readonly closes_from_ms: number | null
  readonly funding_from_ms: number | null
  readonly coins: readonly OverviewCoin[]
}

type OverviewCoin = {
  readonly coin: string
  /** USD; null if unknown. */
  readonly closes: readonly (number | null)[]
  /** Hourly rates, basis points. */
  readonly funding_bps: readonly (number | null)[]
}
