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
