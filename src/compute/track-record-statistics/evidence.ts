/**
 * Evidence by betting (I. Waudby-Smith, A. Ramdas, Estimating means of bounded random variables by betting, 2024). Each
 * day a share of the wealth is staked on the sign of that day's advantage; the share depends on earlier days alone. If
 * the mean advantage has the other sign, no strategy is expected to gain, so the wealth exceeds 1/a with probability at
 * most a, however often it is looked at (Ville's inequality).
 *
 * An advantage is between -1 and 1. It is cut at three times the root mean square of earlier days, so the statement is
 * about the mean of the cut advantage: one wild day proves nothing.
 */
export class Evidence {
  /** Sum of the weights of all days. */
  #days = 0
  #sum = 0
  #squares = 0
  /** Logarithms of the wealth that is staked on an advantage above and below the reference. */
  #logAbove = 0
  #logBelow = 0

  /** Numbers of {@link save}. */
  static readonly fields = 5

  /** E-value against a mean at or below the reference. */
  get above(): number {
    return Math.exp(this.#logAbove)
  }

  /** E-value against a mean at or above the reference. */
  get below(): number {
    return Math.exp(this.#logBelow)
  }

  /** Mean advantage of the days, by their weights; NaN before any. */
  get mean(): number {
    return this.#sum / this.#days
  }

  /** @param reference advantage against which both are tested; constant between two calls of {@link restart} */
  add(advantage: number, reference: number): void {
    const bound = this.#bound()
    if (bound > 0) {
      const cut = clamp(advantage - reference, -bound, bound) / bound
      const mean = (this.#sum / (this.#days + 1) - reference) / bound
      const spread = this.#squares / Math.max(1, this.#days) / bound ** 2
      const stake = spread > 0 ? Math.min(STAKE_MAX, Math.abs(mean) / spread) : 0
      if (mean > 0) this.#logAbove += Math.log1p(stake * cut)
      else this.#logBelow += Math.log1p(-stake * cut)
    }
    // While a shown advantage is tested against half of it, older days lose weight, so that they do not hide its end.
    const kept = reference === 0 ? 1 : KEPT_A_DAY
    this.#days = kept * this.#days + 1
    this.#sum = kept * this.#sum + advantage
    this.#squares = kept * this.#squares + advantage ** 2
  }

  /** Both tests begin again; what earlier days say about the size of a stake stays. */
  restart(): void {
    this.#logAbove = 0
    this.#logBelow = 0
  }

  save(): readonly number[] {
    return [this.#days, this.#sum, this.#squares, this.#logAbove, this.#logBelow]
  }

  restore(saved: ArrayLike<number>): void {
    this.#days = saved[0] as number
    this.#sum = saved[1] as number
    this.#squares = saved[2] as number
    this.#logAbove = saved[3] as number
    this.#logBelow = saved[4] as number
  }

  #bound(): number {
    if (this.#days < DAYS_KNOWN) return 1
    return Math.min(1, CUT_DEVIATIONS * Math.sqrt(this.#squares / this.#days))
  }
}

/** Days before the usual size of an advantage is used. */
const DAYS_KNOWN = 5
const CUT_DEVIATIONS = 3
/** Weight that earlier days of a test keep with each further day of it: that of 60 such days remains. */
const KEPT_A_DAY = 1 - 1 / 60
/** A day at the bound never takes all. */
const STAKE_MAX = 0.9

function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value))
}
