type BackOff = { readonly minMs: number; readonly maxMs: number }

/**
 * Exponential back-off, capped, with full jitter above the minimum.
 * @param failures consecutive failures, from 1
 * @param chance random number from 0 to 1
 */
export function backOffMs({ minMs, maxMs }: BackOff, failures: number, chance: number): number {
  const ceilingMs = Math.min(maxMs, minMs * 2 ** (failures - 1))
  return minMs + chance * (ceilingMs - minMs)
}
