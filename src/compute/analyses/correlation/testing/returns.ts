import fc from 'fast-check'
import { pairStatistics } from '../pair-statistics.ts'
import type { ReturnTable, ReturnWindow } from '../return-table.ts'
import { LiveReturnTable } from '../return-table.ts'
import { RollingCorrelation } from '../rolling-correlation.ts'

/** An hour of the year 2025; any will do. */
export const START_HOUR = 490_003

/** A row an array, the first of its returns in `START_HOUR`; NaN for a gap. */
export function tableOf(rows: readonly (readonly number[])[], ringHours: number): LiveReturnTable {
  const table = new LiveReturnTable(rows.length, ringHours)
  for (const returns of rows) {
    const row = table.addRow()
    for (const [at, logReturn] of returns.entries()) table.set(row, START_HOUR + at, logReturn)
  }
  return table
}

/** Rolling sums over the last `hours` of a table up to `endHour`, all of them just summed. */
export function summedOver(
  table: LiveReturnTable,
  endHour: number,
  hours: number,
  commonMin = 2,
): RollingCorrelation {
  const rolling = new RollingCorrelation(table, hours, commonMin)
  rolling.restart(endHour)
  for (let row = 0; row < table.rows; row += 1) rolling.sum(row)
  return rolling
}

/** Correlations of all pairs from rolling sums, as a symmetric matrix of `rows` columns. */
export function readAll(rolling: RollingCorrelation, rows: number): Float64Array {
  const read = rolling.correlations()
  return Float64Array.from({ length: rows * rows }, (_, at) => {
    const [a, b] = [Math.floor(at / rows), at % rows]
    return read[Math.min(a, b) * rolling.width + Math.max(a, b)] as number
  })
}

/** Correlations of all pairs from the returns, as a symmetric matrix; NaN below `commonMin` common hours. */
export function fromReturns(
  table: ReturnTable,
  window: ReturnWindow,
  commonMin: number,
): Float64Array {
  const { rows } = table
  return Float64Array.from({ length: rows * rows }, (_, at) => {
    const { n, r } = pairStatistics(table, Math.floor(at / rows), at % rows, window)
    return n < commonMin ? Number.NaN : r
  })
}

/** Largest distance of two matrices; Infinity where one knows what the other does not. */
export function difference(one: ArrayLike<number>, other: ArrayLike<number>): number {
  let largest = one.length === other.length ? 0 : Number.POSITIVE_INFINITY
  for (let at = 0; at < one.length; at += 1) {
    const [a, b] = [one[at] as number, other[at] as number]
    if (Number.isNaN(a) && Number.isNaN(b)) continue
    const distance = Math.abs(a - b)
    largest = Math.max(largest, Number.isNaN(distance) ? Number.POSITIVE_INFINITY : distance)
  }
  return largest
}

/** A return as markets have them: most of an hour's size, some large, some none. */
export const logReturn: fc.Arbitrary<number> = fc.oneof(
  { weight: 12, arbitrary: fc.integer({ min: -30_000, max: 30_000 }).map((move) => move * 1e-6) },
  { weight: 1, arbitrary: fc.integer({ min: -400, max: 400 }).map((move) => move * 1e-3) },
  { weight: 1, arbitrary: fc.constant(0) },
)

/** Coins with returns of their own; `gaps` of a hundred are unknown. */
export function coins(
  count: { min: number; max: number },
  hours: { min: number; max: number },
  gaps: number,
): fc.Arbitrary<number[][]> {
  const cell = fc.oneof(
    { weight: 100 - gaps, arbitrary: logReturn },
    { weight: gaps, arbitrary: fc.constant(Number.NaN) },
  )
  return fc.tuple(fc.integer(count), fc.integer(hours)).chain(([rows, length]) =>
    fc.array(fc.array(cell, { minLength: length, maxLength: length, size: 'max' }), {
      minLength: rows,
      maxLength: rows,
      size: 'max',
    }),
  )
}
