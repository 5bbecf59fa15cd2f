import { FOLLOWED_PER_MS } from '../../../domain/steady-clock.ts'

/** What the venue tells is 0.2 to 0.9 s old; only what is later than that was held up. */
export const USUAL_SPREAD_MS = 1_000

/** The smallest of the last half to whole window is what the way and the two clocks account for. */
const WINDOW_MS = 30 * 60_000

type Lag = { readonly lagMs: number; readonly toldAtMs: number }

const NONE: Lag = { lagMs: Number.POSITIVE_INFINITY, toldAtMs: Number.NaN }

/** The shortest time that something took to arrive, forgotten as it gets old. */
export class MinimumLag {
  #windowStartMs = Number.NaN
  #smallest = NONE
  #previousSmallest = NONE
  #doubtedMs = Number.NaN

  /** null before any. */
  get ms(): number | null {
    const { lagMs } = this.#least
    return Number.isFinite(lagMs) ? lagMs : null
  }

  /**
   * What came sooner than anything before by far has a time that broke on its way, until another one tells the same:
   * so it is remembered.
   */
  doubts(lagMs: number): boolean {
    if (lagMs >= (this.ms ?? lagMs) - USUAL_SPREAD_MS) return false
    const isToldAgain = Math.abs(lagMs - this.#doubtedMs) <= USUAL_SPREAD_MS
    this.#doubtedMs = lagMs
    return !isToldAgain
  }

  learn(lagMs: number, nowMs: number): void {
    if (!(nowMs - this.#windowStartMs < WINDOW_MS)) {
      this.#previousSmallest = this.#smallest
      this.#smallest = NONE
      this.#windowStartMs = nowMs
    }
    if (lagMs < this.#smallest.lagMs) this.#smallest = { lagMs, toldAtMs: nowMs }
  }

  /**
   * Our clock follows the wall clock, and every lag grows with it: the smallest one may have grown by as much since it
   * was told.
   * @param lagMs the smallest of late, which was not held up: further than that it did not grow
   */
  grow(lagMs: number, nowMs: number): void {
    const least = this.#least
    if (lagMs <= least.lagMs) return
    const grownMs = least.lagMs + (nowMs - least.toldAtMs) * FOLLOWED_PER_MS
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
