/** Middle of the values in any order, the mean of the two middle ones; NaN for none. */
export function median(values: readonly number[]): number {
  const ascending = values.toSorted((a, b) => a - b)
  const middle = ascending.length >> 1
  const upper = ascending[middle] ?? Number.NaN
  return ascending.length % 2 === 1 ? upper : ((ascending[middle - 1] ?? Number.NaN) + upper) / 2
}

/** By their logarithms, so that the order does not matter. NaN where there is no ratio. */
export function apartBps(a: number, b: number): number {
  return Math.abs(Math.log(a / b)) * 10_000
}
