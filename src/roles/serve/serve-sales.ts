import type { ServeOptions } from '../../config/serve.ts'
import type { Mirror } from '../../link/broker/mirror.ts'
import type { EngineReplica } from '../../link/engine-replica.ts'
import type { RateLimits } from '../../payment/rate-limit.ts'
import type { CheckedSales } from '../../payment/sales-readiness.ts'
import { countFeedEvents } from '../spawn-engine.ts'
import type { Tracing } from '../tracing.ts'
import { deskOf, moneyOf, newTraffic } from './desk.ts'
import type { Foundation } from './foundation.ts'
import { adminListener } from './foundation.ts'
import { measuring } from './measuring.ts'
import { openFilesWatch } from './open-files.ts'
import { openLedger, ownMaintenance } from './open-ledger.ts'
import { keepProofs } from './proofs.ts'
import { publicServer } from './public-server.ts'
import type { Listener, ServicePart } from './running-service.ts'
import { openSelling } from './selling.ts'
import { statusKeeping } from './status-keeping.ts'

type Source = {
  readonly engine: EngineReplica
  /** null if the engine is another process. */
  readonly restartEngine: (() => void) | null
  readonly tracing: Tracing
  /** These three only if the engine is another process. */
  readonly mirror?: Mirror
  readonly rateLimits?: RateLimits
  readonly engineChecks?: () => readonly CheckedSales[]
  /** They hold nothing before their start. */
  readonly parts: readonly ServicePart[]
}

/**
 * Opens what serves and sells the documents of an engine, which is in this process or another one.
 * @param opened what the process has opened; gets everything else, in the order of its end
 */
export async function serveSales(
  options: ServeOptions,
  foundation: Foundation,
  opened: ServicePart[],
  { restartEngine, tracing, parts, ...source }: Source,
): Promise<readonly Listener[]> {
  const { dataDir, host, port } = options
  const { log, metrics, clock } = foundation
  const { engine } = source
  countFeedEvents(engine, metrics)
  const books = options.payment === 'open' ? null : await openLedger(options, log, opened)
  const maintenance = books?.maintenance ?? ownMaintenance(dataDir)
  const traffic = newTraffic(clock)
  const onPayment = traffic.counts.record
  const proofs = books === null ? null : keepProofs(books.proofs, engine, foundation)
  const common = { ...source, maintenance, ...foundation, traffic, onPayment, ...proofs }
  const selling = await openSelling(books, options, common, opened)
  const { checks } = selling
  const status = statusKeeping(dataDir, { engine, maintenance, checks }, foundation)
  const server = publicServer(options, { ...common, selling, status, tracing })
  // It has timers before it listens. A second close does nothing.
  opened.unshift({ stop: () => server.close() })
  const controls = { maintenance, checks, restartEngine, engine }
  const { desk, doctor } = deskOf(options, foundation, {
    ...{ ...controls, requests: traffic.requests },
    money: moneyOf(books?.ledger ?? null, selling.channels, traffic, foundation),
  })
  const admin = adminListener(options, foundation, { ...controls, desk, selling })
  opened.unshift(
    measuring(options, engine, foundation, maintenance),
    status,
    ...parts,
    openFilesWatch(log),
    doctor,
    ...(proofs === null ? [] : [proofs]),
  )
  return [{ server, option: '--port', host, port }, admin]
}
