/**
 * Detects when event time passes whole multiples of a step. The clock that stamps events can jump: multiples that it
 * skips are lost, and after a step back they repeat.
 */
export class EventGrid {
  readonly #stepMs: number
  readonly #leadMs: number
  #dueMs = Number.NaN

  /** @param leadMs time by which each instant precedes the multiple of the step */
  constructor(stepMs: number, leadMs = 0) {
    this.#stepMs = stepMs
    this.#leadMs = leadMs
  }

  /** @returns the last instant that was passed since the previous call, else NaN */
  passed(timeMs: number): number {
    const dueMs = this.#dueMs
    if (timeMs < dueMs && timeMs >= dueMs - 2 * this.#stepMs) return Number.NaN
    const step = Math.floor((timeMs + this.#leadMs) / this.#stepMs)
    const instantMs = step * this.#stepMs - this.#leadMs
    this.#dueMs = instantMs + this.#stepMs
    return timeMs >= dueMs ? instantMs : Number.NaN
  }
}
