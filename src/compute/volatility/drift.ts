import type { CoinMarket } from '../market/coin-market.ts'
import { hourlyCloses } from './hourly-closes.ts'

const HOURS = 24
const HOURS_MIN = 6
const ROOT_SECONDS_PER_ROOT_HOUR = 60
/** Of a coin whose hours are not known: of a large one on a usual day. */
export const USUAL_DRIFT_BPS = 1.5

/** Of a stablecoin: far below 1 bps in the 20 s between two packages of RedStone. */
export const STABLE_DRIFT_BPS = 0.2

/**
 * How far the price walks in a second, one standard deviation, bps; in t seconds it is the root of t times
 * as far. From the closes of the last day.
 */
export function driftBpsPerRootSecond(coin: CoinMarket): number {
  const hourly = coin.of(hourlyCloses)
  let [n, squares] = [0, 0]
  for (let hour = hourly.newestHour; hour > hourly.newestHour - HOURS; hour -= 1) {
    const logReturn = hourly.logReturn(hour)
    if (Number.isNaN(logReturn)) continue
    n += 1
    squares += logReturn ** 2
  }
  if (n < HOURS_MIN) return USUAL_DRIFT_BPS
  return (Math.sqrt(squares / n) / ROOT_SECONDS_PER_ROOT_HOUR) * 10_000
}
