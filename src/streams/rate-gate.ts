import type { Observable, SchedulerLike } from 'rxjs'
import { concat, defer, EMPTY, ignoreElements, timer } from 'rxjs'

/**
 * Completes when one's turn has come, in the order of subscription: nobody is passed over.
 * @param reserve answers the milliseconds until that turn
 */
export function turn(
  reserve: (nowMs: number) => number,
  scheduler: SchedulerLike,
): Observable<never> {
  return defer(() => {
    const waitMs = reserve(scheduler.now())
    return waitMs === 0 ? EMPTY : timer(waitMs, scheduler).pipe(ignoreElements())
  })
}

/**
 * Completes as soon as a limit lets one pass.
 * @param take answers 0 when it was passed, else the milliseconds after which to ask again
 */
export function admission(
  take: (nowMs: number) => number,
  scheduler: SchedulerLike,
): Observable<never> {
  return defer(() => {
    const waitMs = take(scheduler.now())
    if (waitMs === 0) return EMPTY
    return concat(timer(waitMs, scheduler).pipe(ignoreElements()), admission(take, scheduler))
  })
}
