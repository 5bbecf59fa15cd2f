import { FREEDOM_MIN, studentQuantile95 } from '../../statistics/student-quantile.ts'

/** Fisher's z of n independent normal returns has a variance of 1 / (n - 3). */
const LOST_OBSERVATIONS = 3

/**
 * Number of cosines in the long-run variance, as a share of n^(2/3), and its maximum. Method: E. Lazarus, D. J. Lewis, J. H. Stock and M. W. Watson, "HAR Inference", Journal of Business & Economic Statistics
 * 36 (2018); values by measured coverage (`bench/correlation-interval.ts`). More cosines miss slow changes of the
 * correlation, fewer widen every interval.
 */
const COSINE_SHARE = 0.6
const COSINES_MAX = 16

/** Correlations this close to 1 or -1 differ from it by rounding only. */
const PERFECT_WITHIN = 1e-12

export type PairInterval = {
  /** Standard error of r. */
  readonly stderr: number
  readonly low: number
  readonly high: number
}

/**
 * 95 % confidence interval and standard error of a correlation, around Fisher's z, robust to volatility clusters, heavy
 * tails and a drifting correlation. The variance is the long-run variance of the influence of each observation on z,
 * estimated at the lowest frequencies; Student's t has one degree of freedom per frequency, fewer if few observations
 * dominate.
 *
 * @param xs, ys observations in time order, of equal length
 * @param r their correlation, -1 to 1
 * @returns null for three observations or fewer
 */
export function pairInterval(xs: Float64Array, ys: Float64Array, r: number): PairInterval | null {
  const n = xs.length
  if (n <= LOST_OBSERVATIONS) return null
  if (1 - Math.abs(r) < PERFECT_WITHIN) return { stderr: 0, low: r, high: r }
  const influences = influencesOnZ(xs, ys)
  const cosines = Math.min(COSINES_MAX, Math.max(1, Math.floor(COSINE_SHARE * Math.cbrt(n * n))))
  const deviation = Math.sqrt(longRunVariance(influences, cosines) / (n - LOST_OBSERVATIONS))
  const freedom = 1 / (1 / cosines + (kurtosisOf(influences) - 1) / (2 * n))
  const reach = studentQuantile95(Math.max(FREEDOM_MIN, freedom)) * deviation
  const z = Math.atanh(r)
  return {
    stderr: (1 - r * r) * deviation,
    low: Math.tanh(z - reach),
    high: Math.tanh(z + reach),
  }
}

/** z = ln(Var(u + v) / Var(u - v)) / 2, with u and v the standardised series. */
function influencesOnZ(xs: Float64Array, ys: Float64Array): Float64Array {
  const n = xs.length
  const [us, vs] = [standardized(xs), standardized(ys)]
  let [sums, differences] = [0, 0]
  for (let at = 0; at < n; at += 1) {
    const [u, v] = [us[at] as number, vs[at] as number]
    sums += (u + v) ** 2
    differences += (u - v) ** 2
  }
  return us.map((u, at) => {
    const v = vs[at] as number
    return (n / 2) * ((u + v) ** 2 / sums - (u - v) ** 2 / differences)
  })
}

function standardized(values: Float64Array): Float64Array {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0)
  const scale = Math.sqrt(values.length / squares)
  return values.map((value) => (value - mean) * scale)
}

/** Mean power of the series at its lowest `cosines` frequencies. */
function longRunVariance(series: Float64Array, cosines: number): number {
  const n = series.length
  let sum = 0
  for (let cycle = 1; cycle <= cosines; cycle += 1) {
    const step = (Math.PI * cycle) / n
    const [turnCosine, turnSine] = [Math.cos(step), Math.sin(step)]
    // A rotation per observation is much cheaper than a call of Math.cos.
    let [cosine, sine] = [Math.cos(step / 2), Math.sin(step / 2)]
    let weight = 0
    for (let at = 0; at < n; at += 1) {
      weight += (series[at] as number) * cosine
      const next = cosine * turnCosine - sine * turnSine
      sine = sine * turnCosine + cosine * turnSine
      cosine = next
    }
    sum += weight * weight
  }
  return ((2 / n) * sum) / cosines
}

/** Mean fourth power over the square of the mean square, of a series with mean zero. */
function kurtosisOf(series: Float64Array): number {
  let [squares, fourths] = [0, 0]
  for (const value of series) {
    squares += value * value
    fourths += value ** 4
  }
  return (series.length * fourths) / (squares * squares)
}
