import { HOUR_MINUTES_MIN } from '../../external/measures/minute-statistics.ts'
import type { MeasureLog } from '../../market/measure-log.ts'
import { studentQuantile95 } from '../../statistics/student-quantile.ts'

const MINUTES = 60
/** Independent readings that a confidence interval needs. */
const EFFECTIVE_N_MIN = 5

/** Mean of the last hour of a series; NaN without values, `bandBps` also with too few independent ones. */
export type WindowMean = {
  readonly meanBps: number
  readonly n: number
  /** Effective number of independent readings. */
  readonly effectiveN: number
  /** Half-width of the 95 % confidence interval of the mean. */
  readonly bandBps: number
}

/**
 * Mean of the last hour with its 95 % confidence interval. `effectiveN` is the number of minutes reduced by their
 * autocorrelation, and at most the number of distinct publications.
 * @param publications number of distinct publications behind the minutes
 */
export function windowMeanOf(
  log: MeasureLog,
  series: string,
  publications: number,
  nowMs: number,
): WindowMean {
  const minutes = log.minutes(series, nowMs, MINUTES)
  const values = minutes.filter((value) => !Number.isNaN(value))
  const n = values.length
  const meanBps = values.reduce((sum, value) => sum + value, 0) / n
  const squares = values.reduce((sum, value) => sum + (value - meanBps) ** 2, 0)
  const independent = n * independentShare(minutes, meanBps, squares / n)
  const effectiveN = Math.min(publications, independent)
  const isKnown = n >= HOUR_MINUTES_MIN && effectiveN >= EFFECTIVE_N_MIN
  const deviation = Math.sqrt(squares / (n - 1))
  const bandBps = isKnown
    ? (studentQuantile95(effectiveN - 1) * deviation) / Math.sqrt(effectiveN)
    : Number.NaN
  return { meanBps, n, effectiveN, bandBps }
}

/** (1 - r) / (1 + r), r = lag-1 autocorrelation, corrected for small-sample bias (Marriott and Pope 1954). */
function independentShare(minutes: Float64Array, mean: number, variance: number): number {
  let [pairs, products] = [0, 0]
  for (const [at, value] of minutes.entries()) {
    const product = (value - mean) * ((minutes[at - 1] ?? Number.NaN) - mean)
    if (Number.isNaN(product)) continue
    pairs += 1
    products += product
  }
  if (pairs === 0 || variance === 0) return 1
  const seen = products / pairs / variance
  const r = Math.min(0.99, Math.max(0, seen + (1 + 3 * seen) / pairs))
  return (1 - r) / (1 + r)
}
