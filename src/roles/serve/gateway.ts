import { join } from 'node:path'
import { MaintenanceSwitch } from '../../api/maintenance-switch.ts'
import type { ServeOptions } from '../../config/serve.ts'
import type { Mirror } from '../../link/broker/mirror.ts'
import type { EngineReplica } from '../../link/engine-replica.ts'
import { MaintenanceFile } from '../../store/maintenance-file.ts'
import { countFeedEvents } from '../spawn-engine.ts'
import { systemClock } from '../system-clock.ts'
import { connectBroker } from './broker-connection.ts'
import { originOf } from './engine-origin.ts'
import type { Foundation } from './foundation.ts'
import { adminListener, foundationOf } from './foundation.ts'
import { newReplica } from './local-engine.ts'
import { agreeWithEngine, mirrorOf } from './mirroring.ts'
import { publicServer } from './public-server.ts'
import type { ServicePart } from './running-service.ts'
import { runService } from './running-service.ts'
import { logUp, openSelling } from './selling.ts'

/** `--role gateway`: serves and sells the documents of the leading engine. */
export async function serveGateway(options: ServeOptions): Promise<void> {
  const foundation = await foundationOf(options)
  const broker = connectBroker(options.broker, foundation.log)
  const engine = newReplica()
  const mirror = mirrorOf(engine, broker, foundation)
  const link = {
    stop: () => {
      mirror.stop()
      broker.close()
    },
  }
  try {
    await serveFrom(engine, mirror, link, options, foundation)
  } catch (cause) {
    // Its connections would keep the process of a refused start alive.
    link.stop()
    throw cause
  }
}

async function serveFrom(
  engine: EngineReplica,
  mirror: Mirror,
  link: ServicePart,
  options: ServeOptions,
  foundation: Foundation,
): Promise<void> {
  const { host, port } = options
  const { log, metrics } = foundation
  mirror.start()
  const checks = await agreeWithEngine(engine, originOf(options.source), foundation)
  countFeedEvents(engine, metrics)
  const maintenance = new MaintenanceSwitch(
    systemClock.nowMs(),
    new MaintenanceFile(join(options.dataDir, 'maintenance')),
  )
  const common = { engine, maintenance, ...foundation }
  const selling = await openSelling(options, common)
  const server = publicServer(options, { ...common, selling, mirror })
  const admin = adminListener(options, foundation, {
    ...{ engine, maintenance, restartEngine: null },
    checks: () => [...checks(), ...selling.checks()],
  })
  await runService([{ server, option: '--port', host, port }, admin], [...selling.parts, link], log)
  logUp(options, log)
}
