/** Values beyond a limit have its color. */
const QUANTILE = 0.98

/** @returns -1 to 1 */
export function heatOf(limit: number, value: number): number {
  const share = limit === 0 ? 0 : value / limit
  return Math.min(1, Math.max(-1, share))
}

/** A limit for values with few outliers: a quantile of the absolute values; 0 without a value. */
export function heatLimit(values: readonly (number | null)[]): number {
  const sizes = values.flatMap((value) => (value === null ? [] : [Math.abs(value)]))
  sizes.sort((one, other) => one - other)
  return sizes[Math.floor(QUANTILE * (sizes.length - 1))] ?? 0
}

export type Cell = { readonly row: number; readonly column: number }

type MapSize = { readonly rows: number; readonly columns: number }

/** null for a cell that a smaller map does not have any more. */
export function cellWithin(cell: Cell | null, { rows, columns }: MapSize): Cell | null {
  return cell !== null && cell.row < rows && cell.column < columns ? cell : null
}

/** The cell after an arrow key, Home or End; null for another key. */
export function cellAfterKey(
  key: string,
  { row, column }: Cell,
  { rows, columns }: MapSize,
): Cell | null {
  const moved: Readonly<Record<string, Cell>> = {
    ArrowLeft: { row, column: column - 1 },
    ArrowRight: { row, column: column + 1 },
    ArrowUp: { row: row - 1, column },
    ArrowDown: { row: row + 1, column },
    Home: { row, column: 0 },
    End: { row, column: columns - 1 },
  }
  const next = moved[key]
  if (next === undefined) return null
  const within = (at: number, count: number) => Math.min(count - 1, Math.max(0, at))
  return { row: within(next.row, rows), column: within(next.column, columns) }
}
