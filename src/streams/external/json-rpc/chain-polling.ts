import type { Observable } from 'rxjs'
import type { Batch } from '../../../domain/event.ts'
import type { ExternalRuntime } from '../../runtime.ts'
import { onGrid, poll } from '../polling.ts'
import { retryMs } from '../retry.ts'

const PERIOD_MS = 10_000

export type ChainReader = {
  readonly round: () => Observable<Batch>
  /** The status events of a chain that cannot be read. */
  readonly down: (reason: string) => Batch
}

/** Reads a chain every 10 s. @param offsetMs spreads the chains over the period */
export function pollChain(
  reader: ChainReader,
  runtime: ExternalRuntime,
  offsetMs: number,
): Observable<Batch> {
  const { scheduler, random } = runtime
  return poll({
    runtime,
    initial: reader.down('no reply received yet'),
    round: () => reader.round(),
    pauseMs: onGrid(scheduler, PERIOD_MS, offsetMs),
    failed: (cause, failures) => ({
      batch: reader.down(`no node answered; the last one: ${(cause as Error).message}`),
      pauseMs: retryMs(failures, random()),
    }),
  })
}
