/** Smaller deviations of hourly log returns are rounding: the smallest price move is about 1e-5. */
const FLAT_DEVIATION = 1e-12

/** A variance below this share of its sum of squares is rounding. */
const ROUNDING_SHARE = 1e-13

/**
 * Pearson's r from sums over the common hours of two coins, x and y relative to fixed points near their means.
 * -1 to 1; NaN if either is constant.
 */
export function correlationOf(
  n: number,
  sumX: number,
  sumY: number,
  squaresX: number,
  squaresY: number,
  products: number,
): number {
  const x = squaredDeviations(n, sumX, squaresX)
  const y = squaredDeviations(n, sumY, squaresY)
  if (!(x > 0 && y > 0)) return Number.NaN
  return clamped((products - (sumX * sumY) / n) / Math.sqrt(x * y))
}

/** Sum of squared distances from the mean; 0 for a constant series. */
export function squaredDeviations(n: number, sum: number, squares: number): number {
  const deviations = squares - (sum * sum) / n
  const isMoving =
    deviations > n * FLAT_DEVIATION * FLAT_DEVIATION && deviations > ROUNDING_SHARE * squares
  return isMoving ? deviations : 0
}

/** Removes rounding beyond -1 to 1. */
export function clamped(r: number): number {
  if (r > 1) return 1
  if (r < -1) return -1
  return r
}
