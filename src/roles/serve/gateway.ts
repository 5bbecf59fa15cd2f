import type { EffectiveConfiguration } from '../../config/effective.ts'
import type { ServeOptions } from '../../config/serve.ts'
import type { Mirror } from '../../link/broker/mirror.ts'
import type { EngineReplica } from '../../link/engine-replica.ts'
import type { RateLimits } from '../../payment/rate-limit.ts'
import { newReplica } from '../new-replica.ts'
import { countFeedEvents } from '../spawn-engine.ts'
import { tracingTo } from '../tracing.ts'
import { brokerUrlOf, connectBroker } from './broker-connection.ts'
import { deskOf, moneyOf, newTraffic } from './desk.ts'
import { originOf } from './engine-origin.ts'
import type { Foundation } from './foundation.ts'
import { adminListener, foundationOf } from './foundation.ts'
import { brokerRateLimits } from './gateway-limits.ts'
import { measuring } from './measuring.ts'
import { agreeWithEngine, mirrorOf } from './mirroring.ts'
import { openFilesWatch } from './open-files.ts'
import { openLedger, ownMaintenance } from './open-ledger.ts'
import { keepProofs } from './proofs.ts'
import { publicServer } from './public-server.ts'
import type { ServicePart } from './running-service.ts'
import { runService } from './running-service.ts'
import { logUp, openSelling } from './selling.ts'
import { statusKeeping } from './status-keeping.ts'

/** `--role gateway`: serves and sells the documents of the leading engine. */
export async function serveGateway(
  options: ServeOptions,
  configuration: EffectiveConfiguration,
): Promise<void> {
  const foundation = await foundationOf(options, configuration)
  const url = brokerUrlOf(options)
  const broker = connectBroker(url, foundation.log)
  const limits = brokerRateLimits(url, foundation.log)
  const engine = newReplica()
  const mirror = mirrorOf(engine, broker, foundation)
  const link = {
    stop: () => {
      mirror.stop()
      limits.stop()
      broker.close()
    },
  }
  try {
    await serveFrom({ engine, mirror, link, ...limits }, options, foundation)
  } catch (cause) {
    // Its connections would keep the process of a refused start alive.
    link.stop()
    throw cause
  }
}

type Source = {
  readonly engine: EngineReplica
  readonly mirror: Mirror
  readonly link: ServicePart
  readonly rateLimits: RateLimits
}

async function serveFrom(
  { engine, mirror, link, rateLimits }: Source,
  options: ServeOptions,
  foundation: Foundation,
): Promise<void> {
  const { host, port } = options
  const { log, metrics, clock } = foundation
  const tracing = await tracingTo(options.otlpEndpoint, log)
  mirror.start()
  const engineChecks = await agreeWithEngine(engine, originOf(options.source), foundation)
  countFeedEvents(engine, metrics)
  const books = options.payment === 'open' ? null : await openLedger(options, log)
  const maintenance = books?.maintenance ?? ownMaintenance(options.dataDir)
  const traffic = newTraffic(clock)
  const onPayment = traffic.counts.record
  const proofs = books === null ? null : keepProofs(books.proofs, engine, foundation)
  const common = {
    ...{ engine, maintenance, ...foundation, rateLimits, engineChecks, traffic, onPayment },
    ...proofs,
  }
  const selling = await openSelling(books, options, common)
  const status = statusKeeping(
    options.dataDir,
    { engine, maintenance, checks: selling.checks },
    foundation,
  )
  const server = publicServer(options, { ...common, selling, status, tracing, mirror })
  const controls = { maintenance, checks: selling.checks, restartEngine: null }
  const { desk, doctor } = deskOf(options, foundation, {
    ...{ ...controls, engine, requests: traffic.requests },
    money: moneyOf(books?.ledger ?? null, selling.channels, traffic, foundation),
  })
  const admin = adminListener(options, foundation, { ...controls, engine, desk, selling })
  const isRunning = await runService(
    [{ server, option: '--port', host, port }, admin],
    [
      measuring(options, engine, foundation, maintenance),
      status,
      openFilesWatch(log),
      doctor,
      ...(proofs === null ? [] : [proofs]),
      ...selling.parts,
      // After the ledger: an unreachable trace collector delays the exit by a second.
      tracing,
      link,
    ],
    foundation,
  )
  if (isRunning) logUp(options, log)
}
