/**
 * Hourly log returns, a row a coin, in memory that a worker reads without a copy. A hour has its place by
 * its number alone, counted from the Unix epoch; NaN: unknown.
 */
export type ReturnTable = {
  /** Row after row of `ringHours` numbers. */
  readonly values: Float64Array
  readonly rows: number
  readonly ringHours: number
}

/** The last `hours` returns up to `endHour`, of every row. */
export type ReturnWindow = {
  readonly endHour: number
  readonly hours: number
}

/**
 * The table while it is kept up to date. What was shared stays as it was: the first change after it goes
 * into a copy, so a reader in another thread sees one state, whatever happens meanwhile.
 */
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

  /** For reading at once; to be kept, it has to be {@link share}d. */
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

  /** @returns false where it was so already. */
  set(row: number, hour: number, logReturn: number): boolean {
    const at = row * this.ringHours + (hour % this.ringHours)
    if (Object.is(this.#values[at], logReturn)) return false
    this.#own()
    this.#values[at] = logReturn
    return true
  }

  /** @returns the number of a new row, of which nothing is known. */
  addRow(): number {
    this.#own()
    const row = this.#rows
    this.#rows += 1
    this.#values.fill(Number.NaN, row * this.ringHours, this.#rows * this.ringHours)
    return row
  }

  /** Nothing is known of any row any more. */
  clear(): void {
    this.#own()
    this.#values.fill(Number.NaN, 0, this.#rows * this.ringHours)
  }

  /** The last row takes its place. */
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
