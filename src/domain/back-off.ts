type BackOff = { readonly minMs: number; readonly maxMs: number }

/**
 * Exponential, capped, with full jitter above the minimum, so that many clients of one venue do not
 * return in step.
 * @param failures in a row, from 1
 */
export function backOffMs({ minMs, maxMs }: BackOff, failures: number, chance: number): number {
  const ceilingMs = Math.min(maxMs, minMs * 2 ** (failures - 1))
  return minMs + chance * (ceilingMs - minMs)
}
