/**
 * Instants a step apart, as event time goes over them. The clock that stamps events can jump: instants
 * that were leapt over are gone, and after a step back they come again.
 */
export class EventGrid {
  readonly #stepMs: number
  readonly #leadMs: number
  #dueMs = Number.NaN

  /** `leadMs`: how long before the whole multiples of the step its instants lie. */
  constructor(stepMs: number, leadMs = 0) {
    this.#stepMs = stepMs
    this.#leadMs = leadMs
  }

  /** @returns the last instant that was gone over since the call before, else NaN. */
  passed(timeMs: number): number {
    const dueMs = this.#dueMs
    if (timeMs < dueMs && timeMs >= dueMs - 2 * this.#stepMs) return Number.NaN
    const step = Math.floor((timeMs + this.#leadMs) / this.#stepMs)
    const instantMs = step * this.#stepMs - this.#leadMs
    this.#dueMs = instantMs + this.#stepMs
    return timeMs >= dueMs ? instantMs : Number.NaN
  }
}
