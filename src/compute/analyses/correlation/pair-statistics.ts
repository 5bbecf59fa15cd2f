/** Smaller deviations of hourly log returns are rounding: the smallest price move is about 1e-5. */
const FLAT_DEVIATION = 1e-12

export type PairStatistics = {
  /** Common hours. */
  readonly n: number
  /** Pearson's r; NaN if either is constant. */
  readonly r: number
  /** Slope of the first on the second: covariance / variance of the second; NaN if that is constant. */
  readonly beta: number
}

/** Statistics of two series of equal length over their common hours, in two passes. NaN: unknown. */
export function pairStatistics(xs: Float64Array, ys: Float64Array): PairStatistics {
  let n = 0
  let sumX = 0
  let sumY = 0
  for (let at = 0; at < xs.length; at += 1) {
    const x = xs[at] as number
    const y = ys[at] as number
    if (Number.isNaN(x + y)) continue
    n += 1
    sumX += x
    sumY += y
  }
  const [meanX, meanY] = [sumX / n, sumY / n]
  let squaresX = 0
  let squaresY = 0
  let products = 0
  for (let at = 0; at < xs.length; at += 1) {
    const x = (xs[at] as number) - meanX
    const y = (ys[at] as number) - meanY
    if (Number.isNaN(x + y)) continue
    squaresX += x * x
    squaresY += y * y
    products += x * y
  }
  const isMoving = (squares: number) => squares > n * FLAT_DEVIATION * FLAT_DEVIATION
  return {
    n,
    r:
      isMoving(squaresX) && isMoving(squaresY)
        ? clamped(products / Math.sqrt(squaresX * squaresY))
        : Number.NaN,
    beta: isMoving(squaresY) ? products / squaresY : Number.NaN,
  }
}

/** Both series in their common hours. */
export function commonReturns(
  xs: Float64Array,
  ys: Float64Array,
): { readonly xs: Float64Array; readonly ys: Float64Array } {
  const common = { xs: new Float64Array(xs.length), ys: new Float64Array(xs.length) }
  let n = 0
  for (let at = 0; at < xs.length; at += 1) {
    const x = xs[at] as number
    const y = ys[at] as number
    if (Number.isNaN(x + y)) continue
    common.xs[n] = x
    common.ys[n] = y
    n += 1
  }
  return { xs: common.xs.subarray(0, n), ys: common.ys.subarray(0, n) }
}

/** Removes rounding beyond -1 to 1. */
function clamped(r: number): number {
  return Math.max(-1, Math.min(1, r))
}
