/** How many entries, oldest first, are not after an instant. By bisection. */
export function countThrough(
  entries: readonly { readonly timeMs: number }[],
  timeMs: number,
): number {
  let [from, until] = [0, entries.length]
  while (from < until) {
    const middle = (from + until) >>> 1
    if ((entries[middle]?.timeMs ?? Number.POSITIVE_INFINITY) <= timeMs) from = middle + 1
    else until = middle
  }
  return from
}
