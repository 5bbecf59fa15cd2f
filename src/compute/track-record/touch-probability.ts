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

/** Complementary error function, relative error below 1.2e-7 (Numerical Recipes in C, 6.2). */
function erfc(x: number): number {
  const t = 1 / (1 + 0.5 * x)
  const terms = [
    -1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398,
    1.48851587, -0.82215223, 0.17087277,
  ]
  const sum = terms.reduceRight((total, term) => total * t + term, 0)
  return t * Math.exp(-x * x + sum)
}
