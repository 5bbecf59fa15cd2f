/**
 * Rows of numbers at whole multiples of a step, the newest `length` of them. The time of a row determines its slot, so
 * rows may arrive in any order or repeatedly, and a missing row stays missing.
 */
export class StepRing {
  readonly stepMs: number
  readonly #length: number
  readonly #fields: number
  /** By field, then by slot. */
  readonly #values: Float64Array | Float32Array
  /** One bit for each slot with a row. */
  readonly #filled: Uint8Array
  #newestStep = -1

  /** @param Values Float32Array halves the memory where seven digits suffice */
  constructor(
    stepMs: number,
    length: number,
    fields: number,
    Values: typeof Float64Array | typeof Float32Array = Float64Array,
  ) {
    this.stepMs = stepMs
    this.#length = length
    this.#fields = fields
    // One buffer and one view of its values, because each coin has twenty rings.
    const valueBytes = fields * length * Values.BYTES_PER_ELEMENT
    const buffer = new ArrayBuffer(valueBytes + Math.ceil(length / 8))
    this.#values = new Values(buffer, 0, fields * length)
    this.#filled = new Uint8Array(buffer, valueBytes)
  }

  /** Step of the newest row; -1 before any. */
  get newestStep(): number {
    return this.#newestStep
  }

  /** Number of the step of an instant. */
  stepOf(timeMs: number): number {
    return Math.floor(timeMs / this.stepMs)
  }

  has(step: number): boolean {
    if (!Number.isInteger(step) || step < 0 || step > this.#newestStep) return false
    if (step <= this.#newestStep - this.#length) return false
    const slot = step % this.#length
    return ((this.#filled[slot >> 3] as number) & (1 << (slot & 7))) !== 0
  }

  /** @returns NaN for a missing row */
  at(step: number, field: number): number {
    return this.has(step) ? (this.#values[this.#at(step, field)] as number) : Number.NaN
  }

  /** Values of the row of a step; NaN for a missing one. */
  row(step: number): number[] {
    return Array.from({ length: this.#fields }, (_, field) => this.at(step, field))
  }

  /** Steps with a row from one to another, both included, oldest first. */
  steps(fromStep = Number.NEGATIVE_INFINITY, toStep = Number.POSITIVE_INFINITY): number[] {
    const steps: number[] = []
    const last = Math.min(toStep, this.#newestStep)
    for (
      let step = Math.max(fromStep, this.#newestStep - this.#length + 1);
      step <= last;
      step += 1
    )
      if (this.has(step)) steps.push(step)
    return steps
  }

  /** Replaces the row of a step. Ignores steps older than the ring. */
  set(step: number, row: readonly number[]): void {
    if (step < 0 || step <= this.#newestStep - this.#length) return
    this.#advanceTo(step)
    this.#mark(step % this.#length, true)
    for (let field = 0; field < this.#fields; field += 1)
      this.#values[this.#at(step, field)] = row[field] as number
  }

  /** Adds to the row of a step, or creates it. Ignores steps older than the ring. */
  add(step: number, row: readonly number[]): void {
    if (!this.has(step)) {
      this.set(step, row)
      return
    }
    for (let field = 0; field < this.#fields; field += 1) {
      const at = this.#at(step, field)
      this.#values[at] = (this.#values[at] as number) + (row[field] as number)
    }
  }

  /** Step of the row nearest to an instant, the earlier of two equally near; NaN for none within `offMsMax`. */
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

  /** Values of one field of the `count` steps up to one, oldest first; NaN for a missing row. */
  upTo(field: number, toStep: number, count: number): Float64Array {
    const values = new Float64Array(count)
    for (let at = 0; at < count; at += 1) values[at] = this.at(toStep - count + 1 + at, field)
    return values
  }

  /**
   * Rank of a value among those of one field from one step to another, both included, as `percentileOf`. NaN for none.
   * A loop over the slots, because a sorted copy would be as large as the ring.
   */
  percentile(field: number, fromStep: number, toStep: number, value: number): number {
    const fieldAt = field * this.#length
    const first = Math.max(fromStep, this.#newestStep - this.#length + 1, 0)
    const last = Math.min(toStep, this.#newestStep)
    let [count, below, equal] = [0, 0, 0]
    let slot = first % this.#length
    for (let step = first; step <= last; step += 1) {
      if (((this.#filled[slot >> 3] as number) & (1 << (slot & 7))) !== 0) {
        const other = this.#values[fieldAt + slot] as number
        count += 1
        if (other < value) below += 1
        else if (other === value) equal += 1
      }
      slot = slot + 1 === this.#length ? 0 : slot + 1
    }
    return (100 * (below + below + equal)) / (2 * count)
  }

  #at(step: number, field: number): number {
    return field * this.#length + (step % this.#length)
  }

  /** Clears the slots of skipped steps, which hold older rows. */
  #advanceTo(step: number): void {
    const first = Math.max(this.#newestStep, step - this.#length) + 1
    for (let passed = first; passed <= step; passed += 1) this.#mark(passed % this.#length, false)
    this.#newestStep = Math.max(this.#newestStep, step)
  }

  #mark(slot: number, isFilled: boolean): void {
    const bits = this.#filled[slot >> 3] as number
    const bit = 1 << (slot & 7)
    this.#filled[slot >> 3] = isFilled ? bits | bit : bits & ~bit
  }
}
