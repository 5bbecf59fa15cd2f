import { FOLLOWED_PER_MS } from '../../../domain/steady-clock.ts'

/** The smallest of the last half to whole window is what the way and the two clocks account for. */
const WINDOW_MS = 30 * 60_000

type Lag = { readonly lagMs: number; readonly toldAtMs: number }

const NONE: Lag = { lagMs: Number.POSITIVE_INFINITY, toldAtMs: Number.NaN }

/** The shortest time that something took to arrive, forgotten as it gets old. */
export class SmallestLag {
  #windowStartMs = Number.NaN
  #smallest = NONE
  #previousSmallest = NONE

  /** null before any. */
  get ms(): number | null {
    const { lagMs } = this.#least
    return Number.isFinite(lagMs) ? lagMs : null
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
