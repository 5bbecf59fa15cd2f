import {
  DAY_MINUTES_MIN,
  DEVIATIONS_PER_MAD,
  halfLifeSeconds,
  windowStatistics,
} from '../external/measures/minute-statistics.ts'
import { normalBelow } from '../statistics/normal.ts'

/** A gap persists while this share of it remains on the same side. */
export const REMAINING_SHARE = 0.5
const SURE = 0.99

export type Persistence = {
  /** By the half-life of the gap. */
  readonly probability: number
  /** Share of the minutes of the day with such a gap. */
  readonly control: number
}

/**
 * Probability that half of a gap remains on its side: the gap returns to the median of the day with the half-life that
 * the answers state (AR(1) with normal steps, which keep the spread of the day).
 * @param minutes of the last day, NaN where missing
 * @returns null with too few minutes, and where the gap does not revert: no half-life is stated
 */
export function gapPersistence(
  minutes: Float64Array,
  gapBps: number,
  horizonMs: number,
): Persistence | null {
  const known = minutes.filter((value) => !Number.isNaN(value))
  const lifeSeconds = halfLifeSeconds(minutes)
  if (known.length < DAY_MINUTES_MIN || Number.isNaN(lifeSeconds) || gapBps === 0) return null
  const side = Math.sign(gapBps)
  const levelBps = REMAINING_SHARE * Math.abs(gapBps)
  const { median, mad } = windowStatistics(known, DAY_MINUTES_MIN)
  const kept = 0.5 ** (horizonMs / 1_000 / lifeSeconds)
  const expectedBps = side * (median + kept * (gapBps - median))
  const deviationBps = DEVIATIONS_PER_MAD * mad * Math.sqrt(1 - kept ** 2)
  if (!(deviationBps > 0)) return null
  const probability = normalBelow((expectedBps - levelBps) / deviationBps)
  const alike = known.filter((value) => side * value >= levelBps).length
  return {
    probability: Math.min(SURE, Math.max(1 - SURE, probability)),
    control: shareOf(alike, known.length),
  }
}

/** Rule of succession (Laplace): neither 0 nor 1, of which no number of minutes can be sure. */
export function shareOf(hits: number, count: number): number {
  return (hits + 1) / (count + 2)
}
