import type { Clock } from '../../../domain/clock.ts'

/** At most `max` uses in any window of time. */
export class RateWindow {
  readonly #clock: Clock
  readonly #max: number
  readonly #windowMs: number
  #usedMs: number[] = []

  constructor(clock: Clock, max: number, windowMs: number) {
    this.#clock = clock
    this.#max = max
    this.#windowMs = windowMs
  }

  /** @returns false if the limit is reached */
  take(): boolean {
    const nowMs = this.#clock.nowMs()
    this.#usedMs = this.#usedMs.filter((usedMs) => nowMs - usedMs < this.#windowMs)
    if (this.#usedMs.length >= this.#max) return false
    this.#usedMs.push(nowMs)
    return true
  }
}
