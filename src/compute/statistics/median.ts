/** Weights such as seven times 1/7 add up to less than this off their true sum. */
const WEIGHT_ERROR = 1e-9

/** Median of values in any order: of an even number the mean of the middle two. NaN for none. */
export function median(values: readonly number[]): number {
  return medianOfSorted(values.toSorted((a, b) => a - b))
}

export function medianOfSorted(ascending: readonly number[] | Float64Array): number {
  const middle = ascending.length >> 1
  const upper = ascending[middle] ?? Number.NaN
  return ascending.length % 2 === 1 ? upper : ((ascending[middle - 1] ?? Number.NaN) + upper) / 2
}

/** Value at which half of the weight is reached: the mean of two values where half lies between them. NaN for none. */
export function weightedMedian(
  weighted: readonly { readonly value: number; readonly weight: number }[],
): number {
  const ascending = weighted.toSorted((one, other) => one.value - other.value)
  const half = ascending.reduce((sum, { weight }) => sum + weight, 0) / 2
  let reached = 0
  for (const [at, { value, weight }] of ascending.entries()) {
    reached += weight
    if (reached > half + WEIGHT_ERROR) return value
    if (reached > half - WEIGHT_ERROR) return (value + (ascending[at + 1]?.value ?? value)) / 2
  }
  return Number.NaN
}

/** Distance of two prices as a log ratio, so that their order does not matter. NaN where there is no ratio. */
export function apartBps(a: number, b: number): number {
  return Math.abs(Math.log(a / b)) * 10_000
}
