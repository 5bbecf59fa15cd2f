import { BASELINE_RATE_HOURLY } from '../../funding/funding-tilt.ts'
import { dexKindOf } from '../../funding/premium.ts'

const SCALE_RATE_HOURLY = 0.00005
const LOG_RATIO_MAX = 0.5

/**
 * Long-short ratio implied by funding, 0.61 to 1.65: a transform of the rate, not a count of positions.
 * @returns null for a builder-deployed perpetual, whose baseline rate differs
 */
export function longShortRatio(coin: string, fundingRateHourly: number): number | null {
  if (dexKindOf(coin) === 'builder') return null
  return Math.exp(
    LOG_RATIO_MAX * Math.tanh((fundingRateHourly - BASELINE_RATE_HOURLY) / SCALE_RATE_HOURLY),
  )
}
