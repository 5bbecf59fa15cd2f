import { join } from 'node:path'
import { MaintenanceSwitch } from '../../api/maintenance-switch.ts'
import type { ServeOptions } from '../../config/serve.ts'
import { MaintenanceFile } from '../../store/maintenance-file.ts'
import { collectWhenLoaded } from '../lean-process.ts'
import { countFeedEvents } from '../spawn-engine.ts'
import { systemClock } from '../system-clock.ts'
import { warmUpLog } from '../warm-up.ts'
import { lockDataFolder, protectDataFolder } from './data-folder.ts'
import { adminListener, foundationOf } from './foundation.ts'
import { localEngine, newReplica } from './local-engine.ts'
import { publicServer } from './public-server.ts'
import { runService } from './running-service.ts'
import { logUp, openSelling } from './selling.ts'

/** `--role all`: gateway in this thread, engine in a worker thread, admin server. */
export async function serveAll(options: ServeOptions): Promise<void> {
  const { dataDir, host, port } = options
  const lock = lockDataFolder(options.source, dataDir)
  const foundation = await foundationOf(options)
  const { log, clock, metrics } = foundation
  protectDataFolder(dataDir, log)
  const engine = newReplica()
  const engineThread = await localEngine(options, engine, foundation)
  countFeedEvents(engine, metrics)
  const maintenance = new MaintenanceSwitch(
    systemClock.nowMs(),
    new MaintenanceFile(join(dataDir, 'maintenance')),
  )
  const common = { engine, maintenance, ...foundation }
  const selling = await openSelling(options, common)
  const server = publicServer(options, { ...common, selling })
  const admin = adminListener(options, foundation, {
    ...{ engine, maintenance, checks: selling.checks },
    restartEngine: engineThread.restart,
  })
  await runService(
    [{ server, option: '--port', host, port }, admin],
    [
      warmUpLog(engine, clock, log),
      engineThread,
      { stop: collectWhenLoaded(clock) },
      ...selling.parts,
      lock,
    ],
    log,
  )
  logUp(options, log)
}
