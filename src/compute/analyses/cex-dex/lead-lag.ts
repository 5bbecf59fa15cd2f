const SECONDS = 600
export const LAG_SECONDS_MAX = 10
/** Pairs of returns needed. */
const PAIRS_MIN = 300
/** Standard errors that a correlation must exceed; high, because 21 lags are tried. */
const ERRORS_MIN = 4

export type LeadLag = {
  /** Positive: the second series lags the first. */
  readonly lagSeconds: number
  readonly correlation: number
  readonly pairs: number
}

/**
 * Two price series of one second over ten minutes, and the lag at which their returns correlate most. Seconds without
 * a price are missing.
 */
export class LeadLagSeconds {
  readonly #first = new Float64Array(SECONDS).fill(Number.NaN)
  readonly #second = new Float64Array(SECONDS).fill(Number.NaN)
  #newest = Number.NaN

  /** @param firstPrice, secondPrice NaN if unknown; a clock set back clears the series */
  add(timeMs: number, firstPrice: number, secondPrice: number): void {
    const second = Math.floor(timeMs / 1_000)
    if (second < this.#newest) {
      this.#first.fill(Number.NaN)
      this.#second.fill(Number.NaN)
    }
    const from = Math.max(this.#newest + 1, second - SECONDS + 1)
    // `from` is NaN before the first second, so nothing is filled.
    for (let hole = from; hole < second; hole += 1) this.#set(hole, Number.NaN, Number.NaN)
    this.#set(second, Math.log(firstPrice), Math.log(secondPrice))
    this.#newest = second
  }

  /** null with too few pairs, or without a significant correlation. */
  measure(): LeadLag | null {
    const [first, second] = [this.#returns(this.#first), this.#returns(this.#second)]
    let best: LeadLag | null = null
    for (let lag = -LAG_SECONDS_MAX; lag <= LAG_SECONDS_MAX; lag += 1) {
      const { correlation, pairs } = correlationOf(first, second, lag)
      if (!(correlation > (best?.correlation ?? ERRORS_MIN / Math.sqrt(pairs)))) continue
      best = { lagSeconds: lag, correlation, pairs }
    }
    return best
  }

  #set(second: number, first: number, other: number): void {
    const at = ((second % SECONDS) + SECONDS) % SECONDS
    this.#first[at] = first
    this.#second[at] = other
  }

  /** Oldest first; NaN next to a missing second. */
  #returns(logs: Float64Array): Float64Array {
    const returns = new Float64Array(SECONDS - 1).fill(Number.NaN)
    if (Number.isNaN(this.#newest)) return returns
    const oldest = this.#newest + 1
    for (let at = 1; at < SECONDS; at += 1)
      returns[at - 1] =
        (logs[(oldest + at) % SECONDS] as number) - (logs[(oldest + at - 1) % SECONDS] as number)
    return returns
  }
}

/** Pearson's r of each value of the first with the value of the second `lag` later. */
function correlationOf(first: Float64Array, second: Float64Array, lag: number) {
  let [pairs, sumX, sumY, sumXX, sumYY, sumXY] = [0, 0, 0, 0, 0, 0]
  for (let at = Math.max(0, -lag); at < first.length - Math.max(0, lag); at += 1) {
    const [x, y] = [first[at] as number, second[at + lag] as number]
    if (Number.isNaN(x) || Number.isNaN(y)) continue
    pairs += 1
    sumX += x
    sumY += y
    sumXX += x * x
    sumYY += y * y
    sumXY += x * y
  }
  const varianceX = pairs * sumXX - sumX * sumX
  const varianceY = pairs * sumYY - sumY * sumY
  if (pairs < PAIRS_MIN || !(varianceX > 0) || !(varianceY > 0))
    return { correlation: Number.NaN, pairs }
  return { correlation: (pairs * sumXY - sumX * sumY) / Math.sqrt(varianceX * varianceY), pairs }
}
