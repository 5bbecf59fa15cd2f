/** A condition that is unknown for longer counts as ended. */
export const HOLD_MS = 120_000
const CONFIRMED_SAMPLES = 2
const SAVED_FIELDS = 4

/** Start times of a fixed number of conditions, from samples. An unknown sample neither ends nor extends a span. */
export class OpenSpans {
  readonly #firstMs: Float64Array
  readonly #lastMs: Float64Array
  readonly #samples: Float64Array

  constructor(size: number) {
    this.#firstMs = new Float64Array(size).fill(Number.NaN)
    this.#lastMs = new Float64Array(size).fill(Number.NaN)
    this.#samples = new Float64Array(size)
  }

  /** Adds a sample; a repeated one counts once. @param holds null where unknown */
  observe(at: number, holds: boolean | null, sampleMs: number): void {
    const lastMs = this.#lastMs[at] as number
    const isKept = sampleMs - lastMs <= HOLD_MS && sampleMs >= lastMs
    if (holds === false || (holds === null && !isKept)) {
      this.#firstMs[at] = Number.NaN
      this.#lastMs[at] = Number.NaN
      this.#samples[at] = 0
    }
    if (holds !== true || sampleMs === lastMs) return
    if (!isKept) this.#firstMs[at] = sampleMs
    this.#samples[at] = isKept ? (this.#samples[at] as number) + 1 : 1
    this.#lastMs[at] = sampleMs
  }

  /** Whether the condition held in that sample and in the known one before. */
  isConfirmed(at: number, sampleMs: number): boolean {
    return this.#lastMs[at] === sampleMs && (this.#samples[at] as number) >= CONFIRMED_SAMPLES
  }

  /** Time since the condition began; 0 where it did not hold in that sample. */
  ageMs(at: number, sampleMs: number): number {
    return this.#lastMs[at] === sampleMs ? sampleMs - (this.#firstMs[at] as number) : 0
  }

  save(): readonly number[] {
    return Array.from(this.#samples, (samples, at) =>
      samples === 0 ? [] : [at, samples, this.#firstMs[at] as number, this.#lastMs[at] as number],
    ).flat()
  }

  /** @returns false for numbers that {@link save} did not produce */
  restore(saved: ArrayLike<number>): boolean {
    if (saved.length % SAVED_FIELDS !== 0) return false
    for (let from = 0; from < saved.length; from += SAVED_FIELDS) {
      const [at, samples, firstMs, lastMs] = [0, 1, 2, 3].map(
        (field) => saved[from + field] as number,
      )
      const isSound =
        Number.isInteger(at) &&
        (samples as number) >= 1 &&
        (firstMs as number) <= (lastMs as number)
      if (!isSound || !((at as number) >= 0 && (at as number) < this.#samples.length)) return false
      this.#samples[at as number] = samples as number
      this.#firstMs[at as number] = firstMs as number
      this.#lastMs[at as number] = lastMs as number
    }
    return true
  }
}
