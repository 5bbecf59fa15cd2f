/** Which rows of a long table are drawn: those in sight, and some around them. */
export type ShownRows = { readonly from: number; readonly to: number }

/** What a scrolling table shows of its rows, CSS pixels. */
export type RowWindow = {
  readonly rowPx: number
  /** From the first row to the upper edge. */
  readonly scrolledPx: number
  readonly heightPx: number
}

/** Drawing fewer would not be noticed. */
export const WHOLE_ROWS_MAX = 60
/** So that the next Tab, and a scroll by some lines, find drawn rows. */
const SPARE_ROWS = 12

/** Rows beyond those in sight without which others are drawn. */
const NEAR_ROWS = SPARE_ROWS / 2

/**
 * Whether rows that are drawn are enough for a window. They stay enough while it moves by some rows, so that a change of
 * the height by which a table moves when its rows are drawn cannot ask for other rows again and again.
 */
export function areEnough(
  { from, to }: ShownRows,
  count: number,
  { rowPx, scrolledPx, heightPx }: RowWindow,
): boolean {
  const [first, last] = [scrolledPx / rowPx, (scrolledPx + heightPx) / rowPx]
  return (from === 0 || first - from >= NEAR_ROWS) && (to >= count || to - last >= NEAR_ROWS)
}

/** A window moves in steps, so that most scrolling draws nothing. */
export function shownRows(count: number, { rowPx, scrolledPx, heightPx }: RowWindow): ShownRows {
  if (count <= WHOLE_ROWS_MAX) return { from: 0, to: count }
  const inSight = Math.ceil(heightPx / rowPx)
  const step = SPARE_ROWS / 2
  const first = Math.floor(scrolledPx / rowPx / step) * step
  const from = Math.min(Math.max(0, first - SPARE_ROWS), Math.max(0, count - inSight))
  return { from, to: Math.min(count, first + inSight + step + SPARE_ROWS) }
}
