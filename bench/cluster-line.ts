/** A line of the table of `bench/cluster.ts`. */
export type ClusterLine = {
  readonly what: string
  readonly measured: string
  readonly bar: string
  /** null without a bar. */
  readonly isMet: boolean | null
  /** A wrong result, which fails a short run too; a missed bar fails a full run only. */
  readonly isWrong?: boolean
}

export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.round((sorted.length - 1) * part)] ?? Number.NaN
}

export function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(2)} s`
}

/** Number of each value, the most frequent first: `12 x a, 1 x b`. */
export function counted(values: readonly string[]): string {
  return [...Map.groupBy(values, (value) => value)]
    .toSorted(([, one], [, other]) => other.length - one.length)
    .map(([value, all]) => `${all.length} x ${value}`)
    .join(', ')
}
