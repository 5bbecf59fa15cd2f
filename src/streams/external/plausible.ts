/** Tolerated difference between our clock and the source's clock. */
const FUTURE_MS_MAX = 10_000
const FIRST_TIME_MS = Date.UTC(2009, 0, 1)

/** Range of USD prices of one unit of any asset. */
const PRICE_USD_MIN = 1e-15
const PRICE_USD_MAX = 1e9

export function isPlausiblePrice(priceUsd: unknown): priceUsd is number {
  return typeof priceUsd === 'number' && priceUsd >= PRICE_USD_MIN && priceUsd <= PRICE_USD_MAX
}

/** Whether a time of publication is after 2009 and not in the future. */
export function isPlausibleTime(timeMs: unknown, nowMs: number): timeMs is number {
  return typeof timeMs === 'number' && timeMs > FIRST_TIME_MS && timeMs <= nowMs + FUTURE_MS_MAX
}
