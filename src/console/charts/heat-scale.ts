/** How a value becomes a color. */
export type HeatScale = {
  /** `diverging`: from -limit over 0 to limit; `sequential`: from 0 to limit. */
  readonly kind: 'diverging' | 'sequential'
  /** Values beyond it have the color of the limit. */
  readonly limit: number
}

/** @returns -1 to 1, in a sequential scale 0 to 1 */
export function heatOf({ kind, limit }: HeatScale, value: number): number {
  const share = limit === 0 ? 0 : value / limit
  return Math.min(1, Math.max(kind === 'diverging' ? -1 : 0, share))
}

/**
 * A limit for values with few outliers: that quantile of the absolute values.
 * @param quantile 0 to 1
 * @returns 0 without a value
 */
export function heatLimit(values: readonly (number | null)[], quantile = 0.98): number {
  const sizes = values.flatMap((value) => (value === null ? [] : [Math.abs(value)]))
  sizes.sort((one, other) => one - other)
  return sizes[Math.floor(quantile * (sizes.length - 1))] ?? 0
}

export type Cell = { readonly row: number; readonly column: number }

/** The cell after an arrow key, Home or End; null for another key. */
export function cellAfterKey(
  key: string,
  { row, column }: Cell,
  { rows, columns }: { readonly rows: number; readonly columns: number },
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
