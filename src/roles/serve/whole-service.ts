import type { ServeOptions } from '../../config/serve.ts'
import type { Clock } from '../../domain/clock.ts'
import { collectWhenLoaded } from '../lean-process.ts'
import { newReplica } from '../new-replica.ts'
import { tracingTo } from '../tracing.ts'
import { warmUpLog } from '../warm-up.ts'
import { lockDataFolder, prepareDataFolder } from './data-folder.ts'
import type { Foundation } from './foundation.ts'
import { localEngine } from './local-engine.ts'
import type { Listener, ServicePart } from './running-service.ts'
import { serveSales } from './serve-sales.ts'

/**
 * `--role all`: gateway in this thread, engine in a worker thread, admin server.
 * @param opened gets what it opens, in the order of its end
 */
export async function serveAll(
  options: ServeOptions,
  foundation: Foundation,
  opened: ServicePart[],
): Promise<readonly Listener[]> {
  const { source, dataDir } = options
  lockDataFolder(source, dataDir, opened)
  const { log, clock } = foundation
  const tracing = await tracingTo(options.otlpEndpoint, log)
  // Stopped after the ledger: an unreachable trace collector delays the exit by a second.
  opened.unshift(tracing)
  prepareDataFolder(dataDir, log)
  const engine = newReplica()
  const engineThread = await localEngine(options, engine, foundation)
  return serveSales(options, foundation, opened, {
    ...{ engine, tracing, restartEngine: engineThread.restart },
    parts: [warmUpLog(engine, clock, log), engineThread, collecting(clock)],
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
