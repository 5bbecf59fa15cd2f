import { clamped, squaredDeviations } from './pair-moments.ts'
import type { ReturnTable, ReturnWindow } from './return-table.ts'

export type PairStatistics = {
  /** Common hours. */
  readonly n: number
  /** Pearson's r; NaN if either is constant. */
  readonly r: number
  /** Slope of the first on the second: covariance / variance of the second; NaN if that is constant. */
  readonly beta: number
}

/** Statistics of two rows over their common hours of a window, in two passes. */
export function pairStatistics(
  { values, ringHours }: ReturnTable,
  rowX: number,
  rowY: number,
  { endHour, hours }: ReturnWindow,
): PairStatistics {
  const [fromX, fromY] = [rowX * ringHours, rowY * ringHours]
  const firstPlace = (endHour - hours + 1) % ringHours
  let n = 0
  let sumX = 0
  let sumY = 0
  for (let at = 0, place = firstPlace; at < hours; at += 1, place = next(place, ringHours)) {
    const x = values[fromX + place] as number
    const y = values[fromY + place] as number
    if (Number.isNaN(x + y)) continue
    n += 1
    sumX += x
    sumY += y
  }
  const [meanX, meanY] = [sumX / n, sumY / n]
  let squaresX = 0
  let squaresY = 0
  let products = 0
  for (let at = 0, place = firstPlace; at < hours; at += 1, place = next(place, ringHours)) {
    const x = (values[fromX + place] as number) - meanX
    const y = (values[fromY + place] as number) - meanY
    if (Number.isNaN(x + y)) continue
    squaresX += x * x
    squaresY += y * y
    products += x * y
  }
  const deviationsX = squaredDeviations(n, 0, squaresX)
  const deviationsY = squaredDeviations(n, 0, squaresY)
  return {
    n,
    r:
      deviationsX > 0 && deviationsY > 0
        ? clamped(products / Math.sqrt(deviationsX * deviationsY))
        : Number.NaN,
    beta: deviationsY > 0 ? products / deviationsY : Number.NaN,
  }
}

/** Returns of two rows in their common hours of a window, oldest first. */
export function commonReturns(
  { values, ringHours }: ReturnTable,
  rowX: number,
  rowY: number,
  { endHour, hours }: ReturnWindow,
): { readonly xs: Float64Array; readonly ys: Float64Array } {
  const [fromX, fromY] = [rowX * ringHours, rowY * ringHours]
  const [xs, ys] = [new Float64Array(hours), new Float64Array(hours)]
  let n = 0
  let place = (endHour - hours + 1) % ringHours
  for (let at = 0; at < hours; at += 1, place = next(place, ringHours)) {
    const [x, y] = [values[fromX + place] as number, values[fromY + place] as number]
    if (Number.isNaN(x + y)) continue
    xs[n] = x
    ys[n] = y
    n += 1
  }
  return { xs: xs.subarray(0, n), ys: ys.subarray(0, n) }
}

function next(place: number, ringHours: number): number {
  return place + 1 === ringHours ? 0 : place + 1
}
