const HOURS_A_FUNDING_PERIOD = 8
const INTEREST_RATE = 0.0001
const CLAMP = 0.0005
const RATE_MAX_HOURLY = 0.04

/**
 * The hourly rate that the venue's formula gives for an hour of this premium (venue docs, Funding): an
 * eighth of premium plus clamped interest. It holds on the main dex; a builder sets interest, clamp and
 * multiplier of each coin, which the venue does not tell with the figures.
 */
export function impliedRateHourly(premium: number): number {
  const interest = Math.min(CLAMP, Math.max(-CLAMP, INTEREST_RATE - premium))
  const rate = (premium + interest) / HOURS_A_FUNDING_PERIOD
  return Math.min(RATE_MAX_HOURLY, Math.max(-RATE_MAX_HOURLY, rate))
}
