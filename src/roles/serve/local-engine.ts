import type { Logger } from 'pino'
import { Counter } from 'prom-client'
import { version } from '../../config/environment.ts'
import type { ServeOptions } from '../../config/serve.ts'
import { openRecorder } from '../../engine/recorder.ts'
import type { ReplicaTarget, SupervisorNotice } from '../../link/engine-supervisor.ts'
import { EngineSupervisor } from '../../link/engine-supervisor.ts'
import { externalAddresses } from '../external-source.ts'
import { spawnEngineThread } from '../spawn-engine.ts'
import { systemClock } from '../system-clock.ts'
import { liquidationSources, venueOf } from '../venue-source.ts'
import type { Foundation } from './foundation.ts'
import type { ServicePart } from './running-service.ts'

/** The engine of this process. */
export type LocalEngine = ServicePart & { restart(): void }

/**
 * The engine in a worker thread, which loads its code at once and starts with `start`.
 * @param replica receives its messages
 * @throws OperatingError if the file of `--record` cannot be opened
 */
export async function localEngine(
  options: ServeOptions,
  replica: ReplicaTarget,
  { clock, log, metrics, warnings }: Foundation,
): Promise<LocalEngine> {
  const recording =
    options.record === undefined
      ? undefined
      : { path: options.record, bytesMax: options.recordMaxBytes }
  // Later failures only stop the recording; a file that cannot be opened now refuses the start.
  if (recording !== undefined)
    await (await openRecorder(recording, systemClock, () => {})).log.close()
  const spawn = spawnEngineThread(
    {
      engine: {
        venue: venueOf(options.source),
        weightPerMinute: options.weightPerMinute,
        subscriptionsMax: options.subscriptionsMax,
        dexes: options.dexes,
        ...liquidationSources(options),
        dataDir: options.dataDir,
        historyDays: options.historyDays,
        version,
      },
      external: externalAddresses(options),
      recording,
      log: { logLevel: options.logLevel, logFormat: options.logFormat },
    },
    clock,
    warnings.add,
  )
  const restarts = new Counter({
    name: 'perpscope_engine_restarts_total',
    help: 'Starts of the engine after the first, requested ones included.',
    registers: [metrics],
  })
  const onNotice = (notice: SupervisorNotice) => {
    if (notice.kind === 'engine-started' && notice.attempt > 1) restarts.inc()
    logNotice(log, notice)
  }
  const supervisor = new EngineSupervisor({ spawn, replica, clock, onNotice })
  return {
    restart: () => supervisor.restart('requested by the operator'),
    start: () => supervisor.start(),
    stop: () => supervisor.stop(),
  }
}

function logNotice(log: Logger, notice: SupervisorNotice): void {
  if (notice.kind === 'engine-started') log.info(notice, 'engine')
  else log.error(notice, 'engine')
}
