/** Every answer shows a dozen instants, and most of them stand in many answers, such as the hours of a week. */
const shown = new Map<number, string>()
const SHOWN_MAX = 4_096

/** An instant as answers show it: UTC, ISO 8601, milliseconds. */
export function isoInstant(timeMs: number): string {
  const known = shown.get(timeMs)
  if (known !== undefined) return known
  const text = new Date(timeMs).toISOString()
  // All at once: to find the oldest costs twice what it costs to show one.
  if (shown.size === SHOWN_MAX) shown.clear()
  shown.set(timeMs, text)
  return text
}
