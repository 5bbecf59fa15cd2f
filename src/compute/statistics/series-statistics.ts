import { medianOfSorted } from './median.ts'

/** Statistics of a series in time order. NaN where a value does not exist. */
export type SeriesStatistics = {
  readonly count: number
  readonly sum: number
  readonly mean: number
  readonly median: number
  readonly max: number
  readonly min: number
  /** Of the population: divided by the count. 0 where all are equal. */
  readonly deviation: number
  /** Share above zero, percent. */
  readonly positivePct: number
  /** How often the sign changed from one value to the next; zeros are passed over. */
  readonly flips: number
  readonly ascending: Float64Array
}

type Ascending = Float64Array | Float32Array

/** A deviation below this share of the mean is the rounding of equal values. */
const DEVIATION_SHARE_MIN = 1e-13

/** Share above zero, and changes of sign. */
export function signsOf(values: Float64Array): Pick<SeriesStatistics, 'positivePct' | 'flips'> {
  const positive = values.reduce((count, value) => count + (value > 0 ? 1 : 0), 0)
  return {
    positivePct: values.length === 0 ? Number.NaN : (100 * positive) / values.length,
    flips: flipsOf(values),
  }
}

export function statisticsOf(values: Float64Array): SeriesStatistics {
  const count = values.length
  const ascending = values.toSorted()
  const sum = values.reduce((total, value) => total + value, 0)
  const mean = count === 0 ? Number.NaN : sum / count
  return {
    count,
    sum,
    mean,
    median: medianOfSorted(ascending),
    max: ascending.at(-1) ?? Number.NaN,
    min: ascending[0] ?? Number.NaN,
    deviation: deviationOf(values, mean),
    ...signsOf(values),
    ascending,
  }
}

/**
 * Rank of a value among others, 0 to 100: 100 * (those below + half of those equal) / all of them. A value
 * that most share is thus in the middle, not at an end.
 */
export function percentileOf(ascending: Ascending, value: number): number {
  const below = firstWhere(ascending, (other) => other >= value)
  const upTo = firstWhere(ascending, (other) => other > value)
  return (100 * (below + upTo)) / (2 * ascending.length)
}

/** Value below which this share lies, by linear interpolation (type 7 of Hyndman and Fan, 1996). NaN for none. */
export function quantileOf(ascending: Ascending, share: number): number {
  const rank = share * (ascending.length - 1)
  const below = ascending[Math.floor(rank)] ?? Number.NaN
  const above = ascending[Math.ceil(rank)] ?? Number.NaN
  return below + (rank - Math.floor(rank)) * (above - below)
}

/** Distance from the mean in deviations; NaN where all values are equal. */
export function zScoreOf(
  { mean, deviation }: Pick<SeriesStatistics, 'mean' | 'deviation'>,
  value: number,
): number {
  return deviation > 0 ? (value - mean) / deviation : Number.NaN
}

function deviationOf(values: Float64Array, mean: number): number {
  if (values.length === 0) return Number.NaN
  const squares = values.reduce((total, value) => total + (value - mean) ** 2, 0)
  const deviation = Math.sqrt(squares / values.length)
  return deviation <= DEVIATION_SHARE_MIN * Math.abs(mean) ? 0 : deviation
}

function flipsOf(values: Float64Array): number {
  let flips = 0
  let lastSign = 0
  for (const value of values) {
    const sign = Math.sign(value)
    if (sign === 0) continue
    if (lastSign !== 0 && sign !== lastSign) flips += 1
    lastSign = sign
  }
  return flips
}

/** By bisection; the length where it holds for none. */
function firstWhere(ascending: Ascending, holds: (value: number) => boolean): number {
  let [from, until] = [0, ascending.length]
  while (from < until) {
    const middle = (from + until) >> 1
    if (holds(ascending[middle] as number)) until = middle
    else from = middle + 1
  }
  return from
}
