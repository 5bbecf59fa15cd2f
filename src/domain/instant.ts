import { BoundedMap } from './bounded-map.ts'

/** Every answer shows a dozen instants, and most of them stand in many answers, such as the hours of a week. */
const shown = new BoundedMap<number, string>(4_096)

/** An instant as answers show it: UTC, ISO 8601, milliseconds. */
export function isoInstant(timeMs: number): string {
  const known = shown.get(timeMs)
  if (known !== undefined) return known
  const text = new Date(timeMs).toISOString()
  shown.set(timeMs, text)
  return text
}
