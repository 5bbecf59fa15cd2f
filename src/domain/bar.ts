/** One candle. Prices in USD; volume in the coin's unit (thousands of tokens for a `k` coin). */
export type Bar = {
  readonly openTimeMs: number
  readonly open: number
  readonly high: number
  readonly low: number
  readonly close: number
  readonly volumeBase: number
}

/** Far above any price or volume, in any currency: sums and squares of figures below stay finite. */
const PRICE_MAX = 1e15
const VOLUME_MAX = 1e30
/** Unix ms of 2100; a `Date` ends before the largest safe integer. */
const TIME_MS_MAX = 4.1e12

export type BarFault = 'bad_time' | 'bad_price' | 'bad_size' | 'bad_bar'

/**
 * Validates a bar: prices above zero, volume zero or more, all within bounds, open and close within low and high (`bad_bar`).
 * A bar without volume may open outside that range: the venue's history has such bars (RLB, 4h, June and July 2023),
 * which open at the previous close.
 * @returns null for a valid bar
 */
export function barFault({ openTimeMs, open, high, low, close, volumeBase }: Bar): BarFault | null {
  if (!(Number.isSafeInteger(openTimeMs) && Math.abs(openTimeMs) <= TIME_MS_MAX)) return 'bad_time'
  if (!(low > 0 && open > 0 && close > 0 && Math.max(high, open) <= PRICE_MAX)) return 'bad_price'
  if (!(volumeBase >= 0 && volumeBase <= VOLUME_MAX)) return 'bad_size'
  if (!(low <= close && close <= high)) return 'bad_bar'
  return (low <= open && open <= high) || volumeBase === 0 ? null : 'bad_bar'
}
