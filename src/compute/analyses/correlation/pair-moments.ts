/** Hourly log returns that deviate by less are rounding: a price moves by a hundred-thousandth at least. */
const FLAT_DEVIATION = 1e-12

/** A variance that is less than this share of the squares it was taken from consists of rounding. */
const ROUNDING_SHARE = 1e-13

/**
 * Pearson's r from sums over the common hours of two coins, x and y taken from any fixed points near their
 * means. -1 to 1; NaN where either does not move.
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

/** Sum of squared distances from the mean; 0 for what does not move. */
export function squaredDeviations(n: number, sum: number, squares: number): number {
  const deviations = squares - (sum * sum) / n
  const isMoving =
    deviations > n * FLAT_DEVIATION * FLAT_DEVIATION && deviations > ROUNDING_SHARE * squares
  return isMoving ? deviations : 0
}

/** What rounding adds to a perfect correlation is taken off. */
export function clamped(r: number): number {
  if (r > 1) return 1
  if (r < -1) return -1
  return r
}
