/** Share of known returns that a window needs. */
const KNOWN_SHARE_MIN = 0.75

/**
 * Realised variance of the windows of an hourly series, each read in constant time. Running sums: element t is over
 * the first t returns, where return t leads from close t - 1 to close t.
 */
export type HourlyVariance = {
  /** Returns of the series, known or not: one less than closes. */
  readonly hours: number
  /** Sums of squared log returns. */
  readonly squares: Float64Array
  /** Numbers of known returns. */
  readonly known: Float64Array
}

/** @param closes of successive hours, oldest first; NaN or not positive: unknown */
export function hourlyVariance(closes: ArrayLike<number>): HourlyVariance {
  const hours = Math.max(0, closes.length - 1)
  const squares = new Float64Array(hours + 1)
  const known = new Float64Array(hours + 1)
  for (let hour = 1; hour <= hours; hour += 1) {
    const [before, after] = [closes[hour - 1] as number, closes[hour] as number]
    const square = before > 0 && after > 0 ? Math.log(after / before) ** 2 : Number.NaN
    const isKnown = Number.isFinite(square)
    squares[hour] = (squares[hour - 1] as number) + (isKnown ? square : 0)
    known[hour] = (known[hour - 1] as number) + (isKnown ? 1 : 0)
  }
  return { hours, squares, known }
}

/**
 * Variance of one hour's log return, as the mean of squares (zero mean) over the `windowHours` returns that end with
 * return `endHour`. Missing returns are left out of the mean.
 * @returns NaN if the window begins before the series, or less than three quarters of it are known
 */
export function meanVariance(
  { squares, known }: HourlyVariance,
  endHour: number,
  windowHours: number,
): number {
  const fromHour = endHour - windowHours
  if (!(fromHour >= 0 && endHour < squares.length)) return Number.NaN
  const count = (known[endHour] as number) - (known[fromHour] as number)
  if (!(count > 0 && count >= windowHours * KNOWN_SHARE_MIN)) return Number.NaN
  return ((squares[endHour] as number) - (squares[fromHour] as number)) / count
}
