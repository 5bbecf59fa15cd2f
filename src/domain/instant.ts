/** An instant as answers show it: UTC, ISO 8601, milliseconds. */
export function isoInstant(timeMs: number): string {
  return new Date(timeMs).toISOString()
}
