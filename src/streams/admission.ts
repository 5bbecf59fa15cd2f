import type { Observable, SchedulerLike } from 'rxjs'
import { concat, defer, EMPTY, ignoreElements, timer } from 'rxjs'

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
