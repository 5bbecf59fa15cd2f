/** The smallest lag of the last half to whole window is what the way and the two clocks account for. */
const WINDOW_MS = 30 * 60_000
/** What the venue tells is 0.2 to 0.9 s old; only what is later than that was held up. */
const USUAL_SPREAD_MS = 1_000
/** A second that took longer than this, or went back, was a jump of the clock or a pause of ours. */
const JUMP_MS = 2_000
const TICK_MS = 1_000
/** What was held up by a pause has been read by then; what lags afterwards, the clock accounts for. */
const SETTLING_MS = 10_000

/**
 * How far the venue's instants lie behind ours. A frame that was held up, by the network or by a pause
 * of this process, must not count as young because it was read late; a clock that is off by a constant
 * must not make everything old. The two are told apart by what the lag was before.
 */
export class VenueClock {
  #tickedAtMs = Number.NaN
  #windowStartMs = Number.NaN
  #smallestLagMs = Number.POSITIVE_INFINITY
  #previousSmallestLagMs = Number.POSITIVE_INFINITY
  #forgetAtMs = Number.POSITIVE_INFINITY

  /** Our clock minus the venue's, and the shortest way between; null before any lag was seen. */
  get offsetMs(): number | null {
    const offsetMs = Math.min(this.#smallestLagMs, this.#previousSmallestLagMs)
    return Number.isFinite(offsetMs) ? offsetMs : null
  }

  /**
   * @param lagMs receive time minus the venue's time of one frame
   * @returns for how long the frame was held up on the way; 0 for a usual one
   */
  delayMs(lagMs: number, nowMs: number): number {
    this.#learn(lagMs, nowMs)
    const lateMs = lagMs - (this.offsetMs ?? lagMs)
    return lateMs > USUAL_SPREAD_MS ? lateMs : 0
  }

  /** Called every second. @returns by how much our clock went further than that second. */
  tick(nowMs: number): number {
    const jumpMs = nowMs - this.#tickedAtMs - TICK_MS
    this.#tickedAtMs = nowMs
    if (!(Math.abs(jumpMs) > JUMP_MS)) return 0
    this.#forgetAtMs = nowMs + SETTLING_MS
    // Of a clock that was put back, all that is known lies in the future.
    this.#windowStartMs = Math.min(this.#windowStartMs, nowMs)
    return jumpMs
  }

  #learn(lagMs: number, nowMs: number): void {
    if (nowMs >= this.#forgetAtMs) {
      this.#forgetAtMs = Number.POSITIVE_INFINITY
      this.#previousSmallestLagMs = Number.POSITIVE_INFINITY
      this.#smallestLagMs = Number.POSITIVE_INFINITY
      this.#windowStartMs = nowMs
    } else if (!(nowMs - this.#windowStartMs < WINDOW_MS)) {
      this.#previousSmallestLagMs = this.#smallestLagMs
      this.#smallestLagMs = Number.POSITIVE_INFINITY
      this.#windowStartMs = nowMs
    }
    this.#smallestLagMs = Math.min(this.#smallestLagMs, lagMs)
  }
}
