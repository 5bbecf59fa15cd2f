const STEP_MS = 3 * 3_600_000

/**
 * Unix ms of each entry of `history_3h`: 00, 03, 06, ... UTC, the last one not after the answer.
 * @param atMs instant of the answer
 */
export function historyInstants(atMs: number, count: number): readonly number[] {
  const last = Math.floor(atMs / STEP_MS) * STEP_MS
  return Array.from({ length: count }, (_, at) => last - (count - 1 - at) * STEP_MS)
}
