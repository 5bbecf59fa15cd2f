const PERIOD_MS = 60_000
/** A frame that does not fit the universe asks for a new one, but not more often than this. */
const DEMANDED_PERIOD_MS = 5_000

/** When the universe is to be fetched again. */
export class UniverseRefresh {
  #askedMs: number
  #isDemanded = false

  constructor(askedMs: number) {
    this.#askedMs = askedMs
  }

  isDue(nowMs: number): boolean {
    return nowMs - this.#askedMs >= (this.#isDemanded ? DEMANDED_PERIOD_MS : PERIOD_MS)
  }

  /** The universe that we hold is out of date, or the last attempt to fetch it failed. */
  demand(): void {
    this.#isDemanded = true
  }

  asked(nowMs: number): void {
    this.#askedMs = nowMs
    this.#isDemanded = false
  }
}
