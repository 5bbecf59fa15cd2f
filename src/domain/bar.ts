/** One candle. Prices in USD; volume in the coin's own unit (thousands of tokens for a `k` coin). */
export type Bar = {
  readonly openTimeMs: number
  readonly open: number
  readonly high: number
  readonly low: number
  readonly close: number
  readonly volumeBase: number
}
