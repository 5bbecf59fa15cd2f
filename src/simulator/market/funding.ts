import { drift } from './noise.ts'

const HOUR_MS = 3_600_000
const HOURS_A_FUNDING_PERIOD = 8
const INTEREST_RATE = 0.0001
const CLAMP = 0.0005
const BUILDER_CLAMP = 0.0003
const HOURLY_CAP = 0.04

/** How a dex makes premium and funding; all of it from the venue's docs, Funding. */
export type FundingRule = {
  premium(impactBid: number, impactAsk: number, oracle: number): number
  /** Whether a basis within the impact prices is no premium. */
  readonly hasDeadZone: boolean
  /** Maximum of abs(interest - premium) that is added to the premium. */
  readonly clamp: number
  readonly multiplier: number
}

export const mainDexFunding: FundingRule = {
  premium: premiumOf,
  hasDeadZone: true,
  clamp: CLAMP,
  multiplier: 1,
}

/** A builder-deployed dex (HIP-3): another premium, and a multiplier of 0 to 10. */
export function builderDexFunding(multiplier: number): FundingRule {
  return { premium: builderPremiumOf, hasDeadZone: false, clamp: BUILDER_CLAMP, multiplier }
}

/** Premium index of a main-dex perpetual, from impact prices and oracle (venue docs, Funding). */
export function premiumOf(impactBid: number, impactAsk: number, oracle: number): number {
  return (Math.max(impactBid - oracle, 0) - Math.max(oracle - impactAsk, 0)) / oracle
}

/** Premium index of a builder's perpetual: how far the middle of the impact prices is off the oracle. */
export function builderPremiumOf(impactBid: number, impactAsk: number, oracle: number): number {
  return (0.5 * (impactBid + impactAsk)) / oracle - 1
}

/** Hourly rate for an average premium: multiplier x (premium + clamped interest) / 8, 4 % at most (venue docs). */
export function hourlyFundingRate(premium: number, rule: FundingRule = mainDexFunding): number {
  const { clamp, multiplier } = rule
  const interest = Math.min(clamp, Math.max(-clamp, INTEREST_RATE - premium))
  const rate = (multiplier * (premium + interest)) / HOURS_A_FUNDING_PERIOD
  return Math.min(HOURLY_CAP, Math.max(-HOURLY_CAP, rate))
}

/** Inverse of the main dex's rate; where the clamp makes the rate constant, the premium nearest to `modelled`. */
export function premiumForRate(hourlyRate: number, modelled: number): number {
  const rate = hourlyRate * HOURS_A_FUNDING_PERIOD
  if (rate > INTEREST_RATE) return rate + CLAMP
  if (rate < INTEREST_RATE) return rate - CLAMP
  return Math.min(INTEREST_RATE + CLAMP, Math.max(INTEREST_RATE - CLAMP, modelled))
}

/** How far a coin's perpetual trades from its oracle. */
export type Basis = {
  readonly key: number
  readonly mean: number
  readonly amplitude: number
  /** Half the impact spread as a fraction: a basis inside it makes no premium. */
  readonly deadZone: number
}

/** Mid / oracle - 1, with drift on scales of 5 minutes, 2 hours and 20 hours. */
export function basisAt(basis: Basis, timeMs: number): number {
  const wander =
    0.5 * drift(basis.key, timeMs / (20 * HOUR_MS)) +
    0.35 * drift(basis.key ^ 0x21, timeMs / (2 * HOUR_MS)) +
    0.15 * drift(basis.key ^ 0x43, timeMs / (HOUR_MS / 12))
  return basis.mean + basis.amplitude * wander
}

/** Average premium from the whole hour to `timeMs`, one sample a minute (the venue takes 12). */
export function averagePremium(basis: Basis, hourStartMs: number, timeMs: number): number {
  let sum = 0
  let samples = 0
  for (let atMs = hourStartMs; atMs <= timeMs; atMs += HOUR_MS / 60) {
    const value = basisAt(basis, atMs)
    sum += Math.sign(value) * Math.max(0, Math.abs(value) - basis.deadZone)
    samples++
  }
  return sum / samples
}
