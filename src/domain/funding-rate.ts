const HOURS_A_FUNDING_PERIOD = 8
const INTEREST_RATE = 0.0001
const CLAMP = 0.0005
const RATE_MAX_HOURLY = 0.04
/** The deployer of a dex may multiply the venue's cap by ten. */
export const FUNDING_RATE_HOURLY_MAX = 10 * RATE_MAX_HOURLY

/**
 * Hourly funding rate for an hour of this premium: an eighth of premium plus clamped interest
 * (https://hyperliquid.gitbook.io/hyperliquid-docs/trading/funding). Valid on the main dex only: builders set interest,
 * clamp and multiplier per coin, which the venue does not publish with the figures.
 */
export function impliedRateHourly(premium: number): number {
  const interest = Math.min(CLAMP, Math.max(-CLAMP, INTEREST_RATE - premium))
  const rate = (premium + interest) / HOURS_A_FUNDING_PERIOD
  return Math.min(RATE_MAX_HOURLY, Math.max(-RATE_MAX_HOURLY, rate))
}
