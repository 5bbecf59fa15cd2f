import type { Clock } from '../domain/clock.ts'

/** The result of `work`, or `late` when it takes longer than `msMax`. The work itself goes on. */
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
