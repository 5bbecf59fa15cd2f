import type { SchedulerLike } from 'rxjs'
import { Observable, Subscription } from 'rxjs'
import type { Batch } from '../../domain/event.ts'
import type { ExternalRuntime } from '../runtime.ts'

export type Polling = {
  readonly runtime: ExternalRuntime
  /** Emitted at the subscription. */
  readonly initial: Batch
  /** Completes when all its requests are answered; errors when it has no result. */
  readonly round: () => Observable<Batch>
  /** From a successful round to the next. */
  readonly pauseMs: () => number
  /** After a failed round. @param failures in a row, from 1 */
  readonly failed: (
    cause: unknown,
    failures: number,
  ) => { readonly batch: Batch; readonly pauseMs: number }
}

/**
 * Runs rounds one after the other, the first immediately. A round may also be a connection, which lasts
 * until it fails.
 */
export function poll({ runtime, initial, round, pauseMs, failed }: Polling): Observable<Batch> {
  const { scheduler } = runtime
  return new Observable<Batch>((subscriber) => {
    let running = Subscription.EMPTY
    let waiting = Subscription.EMPTY
    let failures = 0
    const emit = (batch: Batch) => {
      if (batch.length > 0) subscriber.next(batch)
    }
    const startAfter = (delayMs: number) => {
      if (!subscriber.closed) waiting = scheduler.schedule(start, delayMs)
    }
    const start = () => {
      running = round().subscribe({
        next: emit,
        complete: () => {
          failures = 0
          startAfter(pauseMs())
        },
        error: (cause: unknown) => {
          failures += 1
          const failure = failed(cause, failures)
          emit(failure.batch)
          startAfter(failure.pauseMs)
        },
      })
    }
    emit(initial)
    start()
    return () => {
      waiting.unsubscribe()
      running.unsubscribe()
    }
  })
}

/** @returns the pause until the next multiple of the period, counted from now plus the offset */
export function onGrid(scheduler: SchedulerLike, periodMs: number, offsetMs: number): () => number {
  let nextMs = scheduler.now() + offsetMs
  return () => {
    while (nextMs <= scheduler.now()) nextMs += periodMs
    return nextMs - scheduler.now()
  }
}
