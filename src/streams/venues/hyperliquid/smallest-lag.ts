/** The smallest of the last half to whole window is what the way and the two clocks account for. */
const WINDOW_MS = 30 * 60_000

/** The shortest time that something took to arrive, forgotten as it gets old. */
export class SmallestLag {
  #windowStartMs = Number.NaN
  #smallestMs = Number.POSITIVE_INFINITY
  #previousSmallestMs = Number.POSITIVE_INFINITY

  /** null before any. */
  get ms(): number | null {
    const smallestMs = Math.min(this.#smallestMs, this.#previousSmallestMs)
    return Number.isFinite(smallestMs) ? smallestMs : null
  }

  learn(lagMs: number, nowMs: number): void {
    if (!(nowMs - this.#windowStartMs < WINDOW_MS)) {
      this.#previousSmallestMs = this.#smallestMs
      this.#smallestMs = Number.POSITIVE_INFINITY
      this.#windowStartMs = nowMs
    }
    this.#smallestMs = Math.min(this.#smallestMs, lagMs)
  }

  startOver(): void {
    this.#windowStartMs = Number.NaN
    this.#smallestMs = Number.POSITIVE_INFINITY
    this.#previousSmallestMs = Number.POSITIVE_INFINITY
  }
}
