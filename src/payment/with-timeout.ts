import type { Clock } from '../domain/clock.ts'

/** Result of `work`, or `late` after `msMax`. The work is not cancelled. */
export function withTimeout<T, Late>(
  clock: Clock,
  msMax: number,
  work: Promise<T>,
  late: Late,
): Promise<T | Late> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(msMax, () => resolve(late))
    work.then(resolve, reject).finally(cancel)
  })
}
