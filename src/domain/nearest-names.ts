export const SUGGESTIONS_MAX = 3
/** Two typing errors; with more, short names match everything. */
const DISTANCE_MAX = 2

/** The known names most similar to `name`, case-insensitive, nearest first. */
export function nearestNames(name: string, names: readonly string[]): string[] {
  const wanted = name.toUpperCase()
  const limit = Math.min(DISTANCE_MAX, wanted.length - 1)
  // Transposed letters are the most common error.
  const isExchange = (known: string) => Number(sorted(known.toUpperCase()) === sorted(wanted))
  return names
    .map((known) => ({ known, distance: editDistance(wanted, known.toUpperCase(), limit) }))
    .filter(({ distance }) => distance <= limit)
    .sort((a, b) => a.distance - b.distance || isExchange(b.known) - isExchange(a.known))
    .slice(0, SUGGESTIONS_MAX)
    .map(({ known }) => known)
}

function sorted(word: string): string {
  return Array.from(word).sort().join('')
}

/**
 * Optimal string alignment distance (https://en.wikipedia.org/wiki/Damerau-Levenshtein_distance). Infinity without a
 * comparison if the lengths differ by more than `limit`.
 */
export function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return Number.POSITIVE_INFINITY
  let [before, row] = [[] as number[], Array.from({ length: b.length + 1 }, (_, column) => column)]
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isExchange = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const exchanged = isExchange ? (before[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY
      next.push(Math.min(replaced, exchanged, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    ;[before, row] = [row, next]
  }
  return row[b.length] ?? 0
}
