/** Cache: an answer has a dozen instants, and most recur in many answers. */
const shown = new Map<number, string>()
const SHOWN_MAX = 4_096

/** Start of a day such as 2026-01-31, UTC; null for another text. `Date.parse` takes 30 February for 2 March. */
export function dayStartMs(text: string): number | null {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return null
  const startMs = Date.parse(text)
  return !Number.isNaN(startMs) && isoInstant(startMs).startsWith(text) ? startMs : null
}

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
