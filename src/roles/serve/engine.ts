import { withoutSales } from '../../api/desk/money-report.ts'
import type { ServeOptions } from '../../config/serve.ts'
import { newReplica } from '../new-replica.ts'
import { countFeedEvents } from '../spawn-engine.ts'
import { warmUpLog } from '../warm-up.ts'
import { brokerUrlOf, connectBroker } from './broker-connection.ts'
import { lockDataFolder, prepareDataFolder } from './data-folder.ts'
import { deskOf } from './desk.ts'
import { originOf } from './engine-origin.ts'
import type { Foundation } from './foundation.ts'
import { adminListener } from './foundation.ts'
import { localEngine } from './local-engine.ts'
import { measuring } from './measuring.ts'
import { publishing } from './publishing.ts'
import type { Listener, ServicePart } from './running-service.ts'

/**
 * `--role engine`: an engine that publishes to a broker while it leads, and stands by otherwise.
 * @param opened gets what it opens, in the order of its end
 */
export async function serveEngine(
  options: ServeOptions,
  foundation: Foundation,
  opened: ServicePart[],
): Promise<readonly Listener[]> {
  const { source, dataDir } = options
  lockDataFolder(source, dataDir, opened)
  const { log, clock, metrics } = foundation
  prepareDataFolder(dataDir, log)
  const engine = newReplica()
  const broker = connectBroker(brokerUrlOf(options), log)
  opened.unshift({ stop: () => broker.close() })
  const publications = publishing(engine, broker, originOf(source), foundation)
  const engineThread = await localEngine(options, publications.target, foundation)
  countFeedEvents(engine, metrics)
  const checks = () => [foundation.drain.check, ...publications.checks()]
  const controls = { maintenance: null, restartEngine: engineThread.restart, checks }
  const { desk, doctor } = deskOf(options, foundation, {
    ...{ ...controls, engine, requests: null },
    money: withoutSales(clock, 'This process is an engine (--role engine); gateways sell.'),
  })
  const admin = adminListener(options, foundation, { ...controls, engine, desk, selling: null })
  opened.unshift(
    measuring(options, engine, foundation, null),
    warmUpLog(engine, clock, log),
    doctor,
    publications,
    engineThread,
  )
  return [admin]
}
