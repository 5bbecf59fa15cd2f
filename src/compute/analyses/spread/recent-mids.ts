/** Two seconds of the busiest coin, which changes its best quotes with every block. */
const MIDS_KEPT = 32
/** Time and mid. */
const FIELDS = 2
const RING_LENGTH = FIELDS * MIDS_KEPT

/** The last mids of one coin, in the order of the venue's own instants. */
export class RecentMids {
  readonly #ring = new Float64Array(RING_LENGTH).fill(Number.NaN)
  #next = 0

  /** Of the newest; -Infinity before any. */
  newestMs = Number.NEGATIVE_INFINITY

  /** @param mid NaN where the quote had none */
  add(timeMs: number, mid: number): void {
    this.newestMs = timeMs
    this.#ring[this.#next] = timeMs
    this.#ring[this.#next + 1] = mid
    this.#next = (this.#next + FIELDS) % RING_LENGTH
  }

  /** The last one that is strictly before an instant; NaN where that is older than `ageMsMax`, or had none. */
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
