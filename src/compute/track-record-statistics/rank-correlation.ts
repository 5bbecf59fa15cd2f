/** Spearman's rank correlation; equal values share their mean rank. NaN if one of the lists is constant. */
export function rankCorrelation(xs: ArrayLike<number>, ys: ArrayLike<number>): number {
  const [one, other] = [ranks(xs), ranks(ys)]
  // The mean of ranks is the same with and without ties.
  const mean = (xs.length + 1) / 2
  let [covariance, variance, otherVariance] = [0, 0, 0]
  for (let at = 0; at < xs.length; at += 1) {
    const a = (one[at] as number) - mean
    const b = (other[at] as number) - mean
    covariance += a * b
    variance += a * a
    otherVariance += b * b
  }
  return covariance / Math.sqrt(variance * otherVariance)
}

function ranks(values: ArrayLike<number>): Float64Array {
  const order = Uint32Array.from(values, (_, at) => at).sort(
    (a, b) => (values[a] as number) - (values[b] as number),
  )
  const ranked = new Float64Array(values.length)
  for (let from = 0; from < order.length; ) {
    let to = from + 1
    while (to < order.length && valueAt(values, order, to) === valueAt(values, order, from)) to += 1
    for (let at = from; at < to; at += 1) ranked[order[at] as number] = (from + to + 1) / 2
    from = to
  }
  return ranked
}

function valueAt(values: ArrayLike<number>, order: Uint32Array, at: number): number {
  return values[order[at] as number] as number
}
