import type { Observable } from 'rxjs'
import { catchError, defer, EMPTY, exhaustMap, filter, of, tap, timer } from 'rxjs'
import { backOffMs } from '../../../domain/back-off.ts'
import type { Batch } from '../../../domain/event.ts'
import type { ExternalRuntime } from '../../runtime.ts'

const PERIOD_MS = 10_000
const TICK_MS = 1_000
const BACK_OFF = { minMs: 1_000, maxMs: 60_000 }

/**
 * Asks at once, then every ten seconds; after a failure sooner, and then ever later. Rounds never overlap.
 * @param round completes when all is asked, and errors when there is nothing to tell
 * @param failed what to tell then
 * @param offsetMs by which the later rounds are moved, so that sources do not ask in step
 */
export function polled(options: {
  readonly runtime: ExternalRuntime
  readonly offsetMs: number
  readonly round: () => Observable<Batch>
  readonly failed: (cause: unknown) => Batch
}): Observable<Batch> {
  const { runtime, offsetMs, round, failed } = options
  const { scheduler, random } = runtime
  return defer(() => {
    let dueMs = scheduler.now()
    let gridMs = dueMs + offsetMs
    let failures = 0
    const succeeded = () => {
      failures = 0
      while (gridMs <= scheduler.now()) gridMs += PERIOD_MS
      dueMs = gridMs
    }
    return timer(0, TICK_MS, scheduler).pipe(
      exhaustMap(() => {
        if (scheduler.now() < dueMs) return EMPTY
        return round().pipe(
          tap({ complete: succeeded }),
          catchError((cause: unknown) => {
            failures += 1
            dueMs = scheduler.now() + backOffMs(BACK_OFF, failures, random())
            return of(failed(cause))
          }),
        )
      }),
      filter((batch) => batch.length > 0),
    )
  })
}
