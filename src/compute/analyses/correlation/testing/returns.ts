import fc from 'fast-check'
import { pairStatistics } from '../pair-statistics.ts'

/** Correlations of all pairs as a symmetric matrix; NaN below `commonMin` common hours. */
export function correlationsOf(
  rows: readonly (readonly number[])[],
  commonMin: number,
): Float64Array {
  return Float64Array.from(
    rows.flatMap((xs) =>
      rows.map((ys) => {
        const { n, r } = pairStatistics(Float64Array.from(xs), Float64Array.from(ys))
        return n < commonMin ? Number.NaN : r
      }),
    ),
  )
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
