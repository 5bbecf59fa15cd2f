/** Laps are kept in 16 bits, 0 for an empty slot: the number of a lap comes again after this many. */
const LAPS = 0xffff

/**
 * Rows of numbers at whole multiples of a step, the newest `length` of them. A row has its place by its
 * time alone, so that rows may come in any order, twice, or not at all: a hole stays a hole.
 */
export class StepRing {
  readonly stepMs: number
  readonly #length: number
  /** Of each slot, how often the ring had gone round when it was written. */
  readonly #laps: Uint16Array
  readonly #fields: readonly Float64Array[]
  #newestStep = -1

  constructor(stepMs: number, length: number, fields: number) {
    this.stepMs = stepMs
    this.#length = length
    // One buffer: there are twenty rings to a coin.
    const fieldBytes = length * Float64Array.BYTES_PER_ELEMENT
    const lapBytes = length * Uint16Array.BYTES_PER_ELEMENT
    const buffer = new ArrayBuffer(fields * fieldBytes + lapBytes)
    this.#laps = new Uint16Array(buffer, fields * fieldBytes, length)
    this.#fields = Array.from(
      { length: fields },
      (_, field) => new Float64Array(buffer, field * fieldBytes, length),
    )
  }

  /** The number of the step that an instant lies in. */
  stepOf(timeMs: number): number {
    return Math.floor(timeMs / this.stepMs)
  }

  has(step: number): boolean {
    return step >= 0 && this.#laps[step % this.#length] === this.#lapOf(step)
  }

  /** @returns NaN where there is no such row. */
  at(step: number, field: number): number {
    return this.has(step) ? (this.#fields[field]?.[step % this.#length] as number) : Number.NaN
  }

  /** Replaces the row of that step. What is older than the ring reaches back is left out. */
  set(step: number, row: readonly number[]): void {
    if (step < 0 || step <= this.#newestStep - this.#length) return
    this.#newestStep = Math.max(this.#newestStep, step)
    const slot = step % this.#length
    this.#laps[slot] = this.#lapOf(step)
    let field = 0
    for (const values of this.#fields) {
      values[slot] = row[field] as number
      field += 1
    }
  }

  /** Adds to the row of that step, which begins with zeros; likewise. */
  add(step: number, row: readonly number[]): void {
    if (!this.has(step)) {
      this.set(step, row)
      return
    }
    const slot = step % this.#length
    let field = 0
    for (const values of this.#fields) {
      values[slot] = (values[slot] as number) + (row[field] as number)
      field += 1
    }
  }

  /** Step of the row nearest to an instant, the earlier of two as near; NaN for none within `offMsMax`. */
  nearest(timeMs: number, offMsMax: number): number {
    let before = this.stepOf(timeMs)
    let after = before + 1
    for (;;) {
      const beforeOffMs = timeMs - before * this.stepMs
      const afterOffMs = after * this.stepMs - timeMs
      if (!(Math.min(beforeOffMs, afterOffMs) <= offMsMax)) return Number.NaN
      if (beforeOffMs <= afterOffMs) {
        if (this.has(before)) return before
        before -= 1
      } else {
        if (this.has(after)) return after
        after += 1
      }
    }
  }

  /** Values of one field from one step to another, both included, oldest first. */
  values(field: number, fromStep: number, toStep: number): Float64Array {
    const values = new Float64Array(Math.max(0, toStep - fromStep + 1))
    let count = 0
    for (let step = fromStep; step <= toStep; step += 1) {
      if (!this.has(step)) continue
      values[count] = this.at(step, field)
      count += 1
    }
    return values.subarray(0, count)
  }

  #lapOf(step: number): number {
    return (Math.floor(step / this.#length) % LAPS) + 1
  }
}
