import type { EffectiveConfiguration } from '../../config/effective.ts'
import type { ServeOptions } from '../../config/serve.ts'
import type { Clock } from '../../domain/clock.ts'
import { collectWhenLoaded } from '../lean-process.ts'
import { newReplica } from '../new-replica.ts'
import { tracingTo } from '../tracing.ts'
import { warmUpLog } from '../warm-up.ts'
import { lockDataFolder, prepareDataFolder } from './data-folder.ts'
import { foundationOf } from './foundation.ts'
import { localEngine } from './local-engine.ts'
import type { ServicePart } from './running-service.ts'
import { serveSales } from './serve-sales.ts'

/** `--role all`: gateway in this thread, engine in a worker thread, admin server. */
export async function serveAll(
  options: ServeOptions,
  configuration: EffectiveConfiguration,
): Promise<void> {
  const { source, dataDir } = options
  const lock = lockDataFolder(source, dataDir)
  const foundation = await foundationOf(options, configuration)
  const { log, clock } = foundation
  const tracing = await tracingTo(options.otlpEndpoint, log)
  prepareDataFolder(dataDir, log)
  const engine = newReplica()
  const engineThread = await localEngine(options, engine, foundation)
  await serveSales(options, foundation, {
    ...{ engine, tracing, restartEngine: engineThread.restart },
    parts: [warmUpLog(engine, clock, log), engineThread, collecting(clock)],
    last: lock,
  })
}

/** Only while the service runs: its timers would keep the process of a refused start alive. */
function collecting(clock: Clock): ServicePart {
  let cancel = () => {}
  return {
    start: () => {
      cancel = collectWhenLoaded(clock)
    },
    stop: () => cancel(),
  }
}
