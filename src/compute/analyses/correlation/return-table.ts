/** Hourly log returns up to one hour, one row for each coin, oldest first. NaN: unknown. */
export type ReturnTable = {
  /** Row after row of `hours` numbers. */
  readonly values: Float64Array
  /** Length of a row. */
  readonly hours: number
  /** Hour of the last column, by its number since the Unix epoch. */
  readonly endHour: number
}

/** The last `hours` returns up to `endHour`; all of them are columns of the table. */
export type ReturnWindow = {
  readonly endHour: number
  readonly hours: number
}

/** @param closes rows of `hours + 1` closes up to `endHour`, USD; NaN: unknown */
export function returnTable(closes: Float64Array, hours: number, endHour: number): ReturnTable {
  const rows = closes.length / (hours + 1)
  const values = new Float64Array(rows * hours)
  for (let row = 0; row < rows; row += 1) {
    const from = row * (hours + 1)
    for (let at = 0; at < hours; at += 1)
      values[row * hours + at] = Math.log(
        (closes[from + at + 1] as number) / (closes[from + at] as number),
      )
  }
  return { values, hours, endHour }
}

/** The returns of one row in a window, as a view. */
export function returnsIn(
  { values, hours, endHour }: ReturnTable,
  row: number,
  window: ReturnWindow,
): Float64Array {
  const end = (row + 1) * hours - (endHour - window.endHour)
  return values.subarray(end - window.hours, end)
}
