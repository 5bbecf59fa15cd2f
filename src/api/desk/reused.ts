import type { Clock } from '../../domain/clock.ts'

/**
 * Computes a value when it is asked for, at most once per period; callers in between share the last one. A failure is
 * not kept.
 */
export function reusedFor<Value>(
  periodMs: number,
  clock: Pick<Clock, 'nowMs'>,
  compute: () => Promise<Value>,
): () => Promise<Value> {
  let last: { readonly value: Promise<Value>; readonly atMs: number } | null = null
  return () => {
    const nowMs = clock.nowMs()
    // A clock that was set back must not keep a value.
    if (last !== null && Math.abs(nowMs - last.atMs) < periodMs) return last.value
    const value = compute()
    last = { value, atMs: nowMs }
    value.catch(() => {
      if (last?.value === value) last = null
    })
    return value
  }
}
