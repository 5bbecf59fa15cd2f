/** Standard normal quantiles at `quantileLevels`. */
const NORMAL_QUANTILES = [-1.959964, -1.281552, -0.67449, 0, 0.67449, 1.281552, 1.959964] as const

/** Half of a normal distribution lies within this many standard deviations of its median. */
export const MEDIAN_DEVIATIONS = 0.67449

/** Quantiles of a log-normal distribution. @param logDeviation standard deviation of its logarithm */
export function logNormalQuantiles(median: number, logDeviation: number): readonly number[] {
  return NORMAL_QUANTILES.map((quantile) => median * Math.exp(quantile * logDeviation))
}
