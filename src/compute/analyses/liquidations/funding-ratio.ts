/** Interest part of the venue's hourly rate: what is paid while nobody presses. */
const BASELINE_RATE_HOURLY = 0.0000125
const SCALE_RATE_HOURLY = 0.00005
const LOG_RATIO_MAX = 0.5

/** Longs over shorts as funding suggests, bounded to 0.61 .. 1.65: an estimate, not a count. */
export function longShortRatio(fundingRateHourly: number): number {
  return Math.exp(
    LOG_RATIO_MAX * Math.tanh((fundingRateHourly - BASELINE_RATE_HOURLY) / SCALE_RATE_HOURLY),
  )
}
