import { erfc } from '../statistics/normal.ts'

/** Mean range of an hour of a random walk, in standard deviations of its move: sqrt(8 / pi). */
const RANGE_DEVIATIONS = Math.sqrt(8 / Math.PI)
const DAY_HOURS = 24
const BISECTIONS = 50
const DEVIATIONS_MAX = 8

/** Standard deviation of the log price over 24 hours. @param atrPct average true range of hourly bars, percent */
export function dayDeviation(atrPct: number): number {
  return (atrPct / 100 / RANGE_DEVIATIONS) * Math.sqrt(DAY_HOURS)
}

/**
 * Probability that a random walk without drift reaches a level (reflection principle).
 * @param deviations distance of the level in log price over the standard deviation of the whole time
 */
export function touchProbability(deviations: number): number {
  return erfc(deviations / Math.SQRT2)
}

/**
 * Distance whose probability, together with that of `given`, has the probability of `middle` as mean: of the two, one
 * drawn at random is reached as often as `middle` unless `middle` is special.
 * @returns null if the given distance is too near
 */
export function balancingDistance(middle: number, given: number): number | null {
  const probability = 2 * touchProbability(middle) - touchProbability(given)
  if (!(probability > touchProbability(DEVIATIONS_MAX))) return null
  let [near, far] = [0, DEVIATIONS_MAX]
  for (let step = 0; step < BISECTIONS; step += 1) {
    const half = (near + far) / 2
    if (touchProbability(half) > probability) near = half
    else far = half
  }
  return far
}
