import { FOLLOWED_PER_MS } from '../../../domain/steady-clock.ts'

/** Data of the venue are 0.2 to 0.9 s old on arrival; only older ones were delayed. */
export const USUAL_SPREAD_MS = 1_000

/** The minimum over the last half to whole window is latency plus clock offset. */
const WINDOW_MS = 30 * 60_000

type Lag = { readonly lagMs: number; readonly atMs: number }

const NONE: Lag = { lagMs: Number.POSITIVE_INFINITY, atMs: Number.NaN }

/** The minimum lag over a sliding window. */
export class MinimumLag {
  #windowStartMs = Number.NaN
  #smallest = NONE
  #previousSmallest = NONE
  #outlierMs = Number.NaN

  /** null before any. */
  get ms(): number | null {
    const { lagMs } = this.#least
    return Number.isFinite(lagMs) ? lagMs : null
  }

  /**
   * A lag far below the minimum has a damaged timestamp, until another one confirms it.
   */
  isOutlier(lagMs: number): boolean {
    if (lagMs >= (this.ms ?? lagMs) - USUAL_SPREAD_MS) return false
    const isRepeated = Math.abs(lagMs - this.#outlierMs) <= USUAL_SPREAD_MS
    this.#outlierMs = lagMs
    return !isRepeated
  }

  learn(lagMs: number, nowMs: number): void {
    if (!(nowMs - this.#windowStartMs < WINDOW_MS)) {
      this.#previousSmallest = this.#smallest
      this.#smallest = NONE
      this.#windowStartMs = nowMs
    }
    if (lagMs < this.#smallest.lagMs) this.#smallest = { lagMs, atMs: nowMs }
  }

  /**
   * The local clock follows the wall clock slowly, and every lag grows with it.
   * @param lagMs the recent minimum of undelayed frames, which bounds the growth
   */
  grow(lagMs: number, nowMs: number): void {
    const least = this.#least
    if (lagMs <= least.lagMs) return
    const grownMs = least.lagMs + (nowMs - least.atMs) * FOLLOWED_PER_MS
    this.startOver()
    this.learn(Math.min(lagMs, grownMs), nowMs)
  }

  startOver(): void {
    this.#windowStartMs = Number.NaN
    this.#smallest = NONE
    this.#previousSmallest = NONE
  }

  get #least(): Lag {
    return this.#smallest.lagMs < this.#previousSmallest.lagMs
      ? this.#smallest
      : this.#previousSmallest
  }
}
