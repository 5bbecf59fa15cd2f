import assert from 'node:assert/strict'

/** A pivot below this share of its column's variance is rounding: the column follows from those before it. */
const PIVOT_SHARE_MIN = 1e-10

/** y is fitted as intercept + slopes x. */
export type LinearFit = { readonly intercept: number; readonly slopes: Float64Array }

/**
 * Linear regression with an intercept over rows that are added one at a time. With k regressors a row costs k^2 and a
 * fit k^3. Keeps means and co-moments (Welford 1962), which lose fewer digits than sums of squares.
 */
export class LeastSquares {
  readonly #regressors: number
  #rows = 0
  readonly #means: Float64Array
  #targetMean = 0
  /** Co-moment matrix in row-major order, lower triangle only. */
  readonly #moments: Float64Array
  readonly #targetMoments: Float64Array
  /** Scratch: distances of the row that is being added, and the Cholesky factor. */
  readonly #distances: Float64Array
  readonly #factor: Float64Array

  constructor(regressors: number) {
    this.#regressors = regressors
    this.#means = new Float64Array(regressors)
    this.#moments = new Float64Array(regressors * regressors)
    this.#targetMoments = new Float64Array(regressors)
    this.#distances = new Float64Array(regressors)
    this.#factor = new Float64Array(regressors * regressors)
  }

  /** Rows added so far. */
  get rows(): number {
    return this.#rows
  }

  /** @param values the regressors, all finite, without a constant: the intercept is implied */
  add(values: ArrayLike<number>, target: number): void {
    const k = this.#regressors
    assert(values.length === k, 'a row has a value for each regressor')
    this.#rows += 1
    for (let i = 0; i < k; i += 1) {
      const distance = (values[i] as number) - (this.#means[i] as number)
      this.#distances[i] = distance
      this.#means[i] = (this.#means[i] as number) + distance / this.#rows
    }
    const targetDistance = target - this.#targetMean
    this.#targetMean += targetDistance / this.#rows
    const weight = (this.#rows - 1) / this.#rows
    for (let i = 0; i < k; i += 1) {
      const weighted = weight * (this.#distances[i] as number)
      this.#targetMoments[i] = (this.#targetMoments[i] as number) + weighted * targetDistance
      for (let j = 0; j <= i; j += 1)
        this.#moments[i * k + j] =
          (this.#moments[i * k + j] as number) + weighted * (this.#distances[j] as number)
    }
  }

  /**
   * Minimises mean(residual^2) + penalty x sum(slope^2) by a Cholesky factorisation of the normal equations.
   * @param penalty 0: ordinary least squares. Above: ridge regression (Hoerl, Kennard 1970); the unit is that of the
   *   regressors' variance, so they should share one scale. The intercept is not penalised.
   * @returns null while there are no more rows than coefficients, for a singular matrix and for a result that is not finite
   */
  fit(penalty = 0): LinearFit | null {
    const k = this.#regressors
    if (this.#rows <= k + 1 || !this.#factorise(penalty)) return null
    const slopes = this.#solve()
    let intercept = this.#targetMean
    for (let i = 0; i < k; i += 1) intercept -= (slopes[i] as number) * (this.#means[i] as number)
    return Number.isFinite(intercept) && slopes.every(Number.isFinite)
      ? { intercept, slopes }
      : null
  }

  /** Covariance + penalty on the diagonal = L L'. False where that has no inverse in double precision. */
  #factorise(penalty: number): boolean {
    const k = this.#regressors
    const factor = this.#factor
    for (let i = 0; i < k; i += 1) {
      for (let j = 0; j <= i; j += 1) {
        const diagonal = i === j ? penalty : 0
        const entry = (this.#moments[i * k + j] as number) / this.#rows + diagonal
        let rest = entry
        for (let at = 0; at < j; at += 1)
          rest -= (factor[i * k + at] as number) * (factor[j * k + at] as number)
        if (i !== j) {
          factor[i * k + j] = rest / (factor[j * k + j] as number)
          continue
        }
        if (!(rest > PIVOT_SHARE_MIN * entry)) return false
        factor[i * k + i] = Math.sqrt(rest)
      }
    }
    return true
  }

  /** Forward and back substitution of L L' slopes = covariance with the target. */
  #solve(): Float64Array {
    const k = this.#regressors
    const factor = this.#factor
    const slopes = new Float64Array(k)
    for (let i = 0; i < k; i += 1) {
      let rest = (this.#targetMoments[i] as number) / this.#rows
      for (let at = 0; at < i; at += 1)
        rest -= (factor[i * k + at] as number) * (slopes[at] as number)
      slopes[i] = rest / (factor[i * k + i] as number)
    }
    for (let i = k - 1; i >= 0; i -= 1) {
      let rest = slopes[i] as number
      for (let at = i + 1; at < k; at += 1)
        rest -= (factor[at * k + i] as number) * (slopes[at] as number)
      slopes[i] = rest / (factor[i * k + i] as number)
    }
    return slopes
  }
}
