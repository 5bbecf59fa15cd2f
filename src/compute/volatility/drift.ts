import type { CoinMarket } from '../market/coin-market.ts'
import { hourlyCloses } from './hourly-closes.ts'

const HOURS = 24
const HOURS_MIN = 6
const ROOT_SECONDS_PER_ROOT_HOUR = 60
/** Assumed for a coin with few known hours: a large coin on a normal day. */
export const USUAL_DRIFT_BPS = 1.5

/** A stablecoin moves far below 1 bps between two packages of RedStone, 20 s apart. */
export const STABLE_DRIFT_BPS = 0.2

/**
 * Standard deviation of the price over one second, bps, from the hourly closes of the last day; over t seconds it is
 * the square root of t times as large. Hours without a move are left out: a halted market does not show how the price
 * moves elsewhere.
 */
export function driftBpsPerRootSecond(coin: CoinMarket): number {
  const hourly = coin.of(hourlyCloses)
  let [n, squares] = [0, 0]
  for (let hour = hourly.newestHour; hour > hourly.newestHour - HOURS; hour -= 1) {
    const logReturn = hourly.logReturn(hour)
    if (Number.isNaN(logReturn) || logReturn === 0) continue
    n += 1
    squares += logReturn ** 2
  }
  if (n < HOURS_MIN) return USUAL_DRIFT_BPS
  return (Math.sqrt(squares / n) / ROOT_SECONDS_PER_ROOT_HOUR) * 10_000
}
