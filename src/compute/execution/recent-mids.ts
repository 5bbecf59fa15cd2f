/** About two seconds of the busiest coin, whose best quotes change with every block. */
const MIDS_KEPT = 32
/** Time and mid price. */
const FIELDS = 2
const RING_LENGTH = FIELDS * MIDS_KEPT

/** The last mid prices of one coin, ordered by the venue's timestamps. */
export class RecentMids {
  readonly #ring = new Float64Array(RING_LENGTH).fill(Number.NaN)
  #next = 0

  /** Timestamp of the newest; -Infinity before any. */
  newestMs = Number.NEGATIVE_INFINITY

  /** @param mid NaN for a quote without one */
  add(timeMs: number, mid: number): void {
    this.newestMs = timeMs
    this.#ring[this.#next] = timeMs
    this.#ring[this.#next + 1] = mid
    this.#next = (this.#next + FIELDS) % RING_LENGTH
  }

  /** Last mid strictly before a timestamp; NaN if it is older than `ageMsMax` or unknown. */
  before(timeMs: number, ageMsMax: number): number {
    for (let back = FIELDS; back <= RING_LENGTH; back += FIELDS) {
      const at = (this.#next - back + RING_LENGTH) % RING_LENGTH
      const ageMs = timeMs - (this.#ring[at] as number)
      if (ageMs > 0) return ageMs <= ageMsMax ? (this.#ring[at + 1] as number) : Number.NaN
    }
    return Number.NaN
  }

  clear(): void {
    this.#ring.fill(Number.NaN)
    this.newestMs = Number.NEGATIVE_INFINITY
  }
}
