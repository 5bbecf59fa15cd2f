import type { ServeOptions } from '../../config/serve.ts'
import { newReplica } from '../new-replica.ts'
import { tracingTo } from '../tracing.ts'
import { brokerUrlOf, connectBroker } from './broker-connection.ts'
import { originOf } from './engine-origin.ts'
import type { Foundation } from './foundation.ts'
import { brokerRateLimits } from './gateway-limits.ts'
import { agreeWithEngine, mirrorOf } from './mirroring.ts'
import type { Listener, ServicePart } from './running-service.ts'
import { serveSales } from './serve-sales.ts'

/**
 * `--role gateway`: serves and sells the documents of the leading engine.
 * @param opened gets what it opens, in the order of its end
 */
export async function serveGateway(
  options: ServeOptions,
  foundation: Foundation,
  opened: ServicePart[],
): Promise<readonly Listener[]> {
  const url = brokerUrlOf(options)
  const broker = connectBroker(url, foundation.log)
  opened.unshift({ stop: () => broker.close() })
  const limits = brokerRateLimits(url, foundation.log)
  opened.unshift({ stop: () => limits.stop() })
  const engine = newReplica()
  const mirror = mirrorOf(engine, broker, foundation)
  opened.unshift({ stop: () => mirror.stop() })
  const tracing = await tracingTo(options.otlpEndpoint, foundation.log)
  // Stopped after the ledger: an unreachable trace collector delays the exit by a second.
  opened.unshift(tracing)
  mirror.start()
  const engineChecks = await agreeWithEngine(engine, originOf(options.source), foundation)
  const { rateLimits } = limits
  return serveSales(options, foundation, opened, {
    ...{ engine, mirror, rateLimits, engineChecks, tracing, restartEngine: null },
    parts: [],
  })
}
