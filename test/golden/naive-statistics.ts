/** Textbook definitions, each in a separate loop. NaN for an empty list. */
export function naiveStatistics(values: readonly number[]) {
  const mean = sum(values) / values.length
  const sorted = [...values].sort((one, other) => one - other)
  const half = Math.floor(sorted.length / 2)
  return {
    count: values.length,
    sum: sum(values),
    mean,
    median:
      sorted.length % 2 === 1
        ? (sorted[half] ?? Number.NaN)
        : ((sorted[half - 1] ?? Number.NaN) + (sorted[half] ?? Number.NaN)) / 2,
    max: Math.max(...values),
    min: Math.min(...values),
    deviation: Math.sqrt(sum(values.map((value) => (value - mean) ** 2)) / values.length),
    positivePct: (values.filter((value) => value > 0).length / values.length) * 100,
    flips: pairs(values.filter((value) => value !== 0)).filter(
      ([one, next]) => one > 0 !== next > 0,
    ).length,
  }
}

/** Share of smaller values plus half of the share of equal values, among all others. */
export function naivePercentile(values: readonly number[], value: number): number {
  const smaller = values.filter((other) => other < value).length
  const equal = values.filter((other) => other === value).length
  return ((smaller + equal / 2) / values.length) * 100
}

/** The sorted values lie evenly between 0 and 1; between two of them by a straight line. */
export function naiveQuantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((one, other) => one - other)
  if (sorted.length === 1) return sorted[0] as number
  for (const [at, low] of sorted.entries()) {
    const high = sorted[at + 1] ?? low
    const [from, until] = [at / (values.length - 1), (at + 1) / (values.length - 1)]
    if (share <= until) return low + ((share - from) / (until - from)) * (high - low)
  }
  return Number.NaN
}

/** null if the values differ by rounding only. */
export function naiveZScore(values: readonly number[], value: number): number | null {
  if (values.every((other) => other === values[0])) return null
  const { mean, deviation } = naiveStatistics(values)
  return (value - mean) / deviation
}

/** Rounds to the last decimal that is no finer than one of `count` equal steps of `whole`. */
export function naiveSteps(value: number, count: number, whole: number): number {
  let decimals = 0
  while (whole / count <= 10 ** -(decimals + 1)) decimals += 1
  const shown = Number(value.toFixed(decimals))
  // Whole and nothing are shown of shares that are it.
  const [none, all] = [shown === 0 && value > 0, shown === 100 && value < 100]
  if (whole !== 100 || !(none || all)) return shown
  return Number((none ? 10 ** -decimals : 100 - 10 ** -decimals).toFixed(decimals))
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

function pairs(values: readonly number[]): [number, number][] {
  return values.slice(1).map((value, at) => [values[at] as number, value])
}
