import { join } from 'node:path'
import { collectDefaultMetrics, Registry } from 'prom-client'
import { AdminAccess } from '../api/admin-access.ts'
import { buildAdminServer } from '../api/admin-server.ts'
import { MaintenanceSwitch } from '../api/maintenance-switch.ts'
import { checkServeOptions } from '../config/check-serve.ts'
import { version } from '../config/environment.ts'
import type { ServeOptions } from '../config/serve.ts'
import { MaintenanceFile } from '../store/maintenance-file.ts'
import { adminTokenOf } from './admin-client.ts'
import { processLogger } from './logger.ts'
import { lockDataFolder, protectDataFolder } from './serve/data-folder.ts'
import { localEngine } from './serve/local-engine.ts'
import { publicServer } from './serve/public-server.ts'
import { runService } from './serve/running-service.ts'
import { openSelling } from './serve/selling.ts'
import { countFeedEvents } from './spawn-engine.ts'
import { steadySystemClock, systemClock } from './system-clock.ts'
import { warmUpLog } from './warm-up.ts'

/** `perpscope serve`: gateway in this thread, engine in a worker thread, admin server, by default on loopback. */
export async function serve(options: ServeOptions): Promise<void> {
  checkServeOptions(options)
  const { dataDir, host, port, adminHost, adminPort } = options
  const lock = lockDataFolder(options.source, dataDir)
  const log = await processLogger(options)
  protectDataFolder(dataDir, log)
  const clock = steadySystemClock()
  const metrics = new Registry()
  collectDefaultMetrics({ register: metrics })
  const localOne = await localEngine(options, clock, log)
  const engine = localOne.replica
  countFeedEvents(engine, metrics)
  const maintenance = new MaintenanceSwitch(
    systemClock.nowMs(),
    new MaintenanceFile(join(dataDir, 'maintenance')),
  )
  const common = { engine, maintenance, clock, log }
  const selling = await openSelling(options, { ...common, metrics })
  const server = publicServer(options, { ...common, selling })
  const admin = buildAdminServer({
    access: new AdminAccess(adminTokenOf(options)),
    ...{ engine, maintenance, metrics, clock, logger: log },
    checks: selling.checks,
    restartEngine: localOne.restart,
  })
  await runService(
    [
      { server, option: '--port', host, port },
      { server: admin, option: '--admin-port', host: adminHost, port: adminPort },
    ],
    [warmUpLog(engine, clock, log), localOne, ...selling.parts, lock],
    log,
  )
  if (options.payment === 'open')
    log.warn('--payment open: all answers are free for everyone who can reach this port')
  log.info({ source: options.source, payment: options.payment }, `perpscope ${version} is up`)
}
