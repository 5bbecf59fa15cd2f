import type { EffectiveConfiguration } from '../../config/effective.ts'
import type { ServeOptions } from '../../config/serve.ts'
import { newReplica } from '../new-replica.ts'
import { tracingTo } from '../tracing.ts'
import { brokerUrlOf, connectBroker } from './broker-connection.ts'
import { originOf } from './engine-origin.ts'
import { foundationOf } from './foundation.ts'
import { brokerRateLimits } from './gateway-limits.ts'
import { agreeWithEngine, mirrorOf } from './mirroring.ts'
import { serveSales } from './serve-sales.ts'

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
    const tracing = await tracingTo(options.otlpEndpoint, foundation.log)
    mirror.start()
    const engineChecks = await agreeWithEngine(engine, originOf(options.source), foundation)
    const { rateLimits } = limits
    await serveSales(options, foundation, {
      ...{ engine, mirror, rateLimits, engineChecks, tracing, restartEngine: null },
      parts: [],
      last: link,
    })
  } catch (cause) {
    // Its connections would keep the process of a refused start alive.
    link.stop()
    throw cause
  }
}
