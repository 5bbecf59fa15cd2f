/** One candle. Prices in USD; volume in the coin's unit (thousands of tokens for a `k` coin). */
export type Bar = {
  readonly openTimeMs: number
  readonly open: number
  readonly high: number
  readonly low: number
  readonly close: number
  readonly volumeBase: number
}

export type BarFault = 'bad_time' | 'bad_price' | 'bad_size' | 'bad_bar'

/**
 * Validates a bar: prices above zero, volume zero or more, all finite, open and close within low and high (`bad_bar`).
 * A bar without volume may open outside that range: the venue's history has such bars (RLB, 4h, June and July 2023),
 * which open at the previous close.
 * @returns null for a valid bar
 */
export function barFault({ openTimeMs, open, high, low, close, volumeBase }: Bar): BarFault | null {
  if (!Number.isSafeInteger(openTimeMs)) return 'bad_time'
  if (!(low > 0 && open > 0 && close > 0 && high < Number.POSITIVE_INFINITY)) return 'bad_price'
  if (!(volumeBase >= 0 && volumeBase < Number.POSITIVE_INFINITY)) return 'bad_size'
  if (!(low <= close && close <= high)) return 'bad_bar'
  return (low <= open && open <= high) || volumeBase === 0 ? null : 'bad_bar'
}
