import type { Observable, SchedulerLike } from 'rxjs'
import { concat, defer, EMPTY, ignoreElements, timer } from 'rxjs'

/**
 * Completes at the reserved time. Subscribers are served in order.
 * @param reserve reserves a slot and returns the milliseconds until it begins
 */
export function scheduledSlot(
  reserve: (nowMs: number) => number,
  scheduler: SchedulerLike,
): Observable<never> {
  return defer(() => {
    const waitMs = reserve(scheduler.now())
    return waitMs === 0 ? EMPTY : timer(waitMs, scheduler).pipe(ignoreElements())
  })
}

/**
 * Completes as soon as the rate limit permits.
 * @param take returns 0 if it took the cost, otherwise the milliseconds until the next attempt
 */
export function rateGate(
  take: (nowMs: number) => number,
  scheduler: SchedulerLike,
): Observable<never> {
  return defer(() => {
    const waitMs = take(scheduler.now())
    if (waitMs === 0) return EMPTY
    return concat(timer(waitMs, scheduler).pipe(ignoreElements()), rateGate(take, scheduler))
  })
}
