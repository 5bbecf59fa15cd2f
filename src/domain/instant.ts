/** Cache: an answer has a dozen instants, and most recur in many answers. */
const shown = new Map<number, string>()
const SHOWN_MAX = 4_096

/** UTC, ISO 8601, milliseconds. */
export function isoInstant(timeMs: number): string {
  const known = shown.get(timeMs)
  if (known !== undefined) return known
  const text = new Date(timeMs).toISOString()
  // Evicting the oldest would cost twice as much as formatting.
  if (shown.size === SHOWN_MAX) shown.clear()
  shown.set(timeMs, text)
  return text
}
