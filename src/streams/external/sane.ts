/** Our clock and theirs may be so far apart; what is stamped later is no publication. */
const FUTURE_MS_MAX = 10_000

/** One unit of no asset costs less or more, in USD. */
const PRICE_USD_MIN = 1e-15
const PRICE_USD_MAX = 1e9

/** Whether a number can be the price of one unit of an asset in USD. */
export function isSanePrice(priceUsd: unknown): priceUsd is number {
  return typeof priceUsd === 'number' && priceUsd >= PRICE_USD_MIN && priceUsd <= PRICE_USD_MAX
}

/** Whether something can have been published then: after 2009, and not in the future. */
export function isSaneTime(timeMs: unknown, nowMs: number): timeMs is number {
  return (
    typeof timeMs === 'number' && timeMs > Date.UTC(2009, 0, 1) && timeMs <= nowMs + FUTURE_MS_MAX
  )
}
