/**
 * Hourly log returns, one row per coin, in shared memory that a worker reads without a copy. The place of an hour is
 * its number since the Unix epoch, modulo `ringHours`. NaN: unknown.
 */
export type ReturnTable = {
  /** Row after row of `ringHours` numbers. */
  readonly values: Float64Array
  readonly rows: number
  readonly ringHours: number
}

/** The last `hours` returns up to `endHour`. */
export type ReturnWindow = {
  readonly endHour: number
  readonly hours: number
}

/** The writable table, copied on the first write after {@link share}, so a worker always reads one state. */
export class LiveReturnTable implements ReturnTable {
  readonly ringHours: number
  readonly rowsMax: number
  #rows = 0
  #values: Float64Array
  #isShared = false

  constructor(rowsMax: number, ringHours: number) {
    this.rowsMax = rowsMax
    this.ringHours = ringHours
    this.#values = sharedNumbers(rowsMax * ringHours)
  }

  get rows(): number {
    return this.#rows
  }

  /** For immediate reading only; use {@link share} to keep it. */
  get values(): Float64Array {
    return this.#values
  }

  share(): ReturnTable {
    this.#isShared = true
    return { values: this.#values, rows: this.#rows, ringHours: this.ringHours }
  }

  at(row: number, hour: number): number {
    return this.#values[row * this.ringHours + (hour % this.ringHours)] as number
  }

  /** @returns whether the value changed. */
  set(row: number, hour: number, logReturn: number): boolean {
    const at = row * this.ringHours + (hour % this.ringHours)
    if (Object.is(this.#values[at], logReturn)) return false
    this.#own()
    this.#values[at] = logReturn
    return true
  }

  /** @returns the number of a new row, all unknown. */
  addRow(): number {
    this.#own()
    const row = this.#rows
    this.#rows += 1
    this.#values.fill(Number.NaN, row * this.ringHours, this.#rows * this.ringHours)
    return row
  }

  /** Sets all returns to unknown. */
  clear(): void {
    this.#own()
    this.#values.fill(Number.NaN, 0, this.#rows * this.ringHours)
  }

  /** The last row takes its number. */
  removeRow(row: number): void {
    this.#own()
    const last = this.#rows - 1
    this.#values.copyWithin(
      row * this.ringHours,
      last * this.ringHours,
      this.#rows * this.ringHours,
    )
    this.#rows = last
  }

  #own(): void {
    if (!this.#isShared) return
    const values = sharedNumbers(this.rowsMax * this.ringHours)
    values.set(this.#values.subarray(0, this.#rows * this.ringHours))
    this.#values = values
    this.#isShared = false
  }
}

/** Copies one row of a window, oldest return first. `target` is as long as the window. */
export function copyRow(
  { values, ringHours }: ReturnTable,
  row: number,
  { endHour, hours }: ReturnWindow,
  target: Float64Array,
): void {
  const from = row * ringHours + ((endHour - hours + 1) % ringHours)
  const untilEnd = Math.min(hours, (row + 1) * ringHours - from)
  target.set(values.subarray(from, from + untilEnd))
  if (untilEnd < hours)
    target.set(values.subarray(row * ringHours, row * ringHours + hours - untilEnd), untilEnd)
}

function sharedNumbers(count: number): Float64Array {
  return new Float64Array(new SharedArrayBuffer(count * Float64Array.BYTES_PER_ELEMENT))
}
