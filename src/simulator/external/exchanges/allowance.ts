import type { Clock } from '../../../domain/clock.ts'

/** So many times in any window of time, and no more. */
export class Allowance {
  readonly #clock: Clock
  readonly #most: number
  readonly #windowMs: number
  #usedMs: number[] = []

  constructor(clock: Clock, most: number, windowMs: number) {
    this.#clock = clock
    this.#most = most
    this.#windowMs = windowMs
  }

  /** @returns false for one too many */
  take(): boolean {
    const nowMs = this.#clock.nowMs()
    this.#usedMs = this.#usedMs.filter((usedMs) => nowMs - usedMs < this.#windowMs)
    if (this.#usedMs.length >= this.#most) return false
    this.#usedMs.push(nowMs)
    return true
  }
}
