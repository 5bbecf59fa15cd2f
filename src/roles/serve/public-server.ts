import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { FreeRoutesOptions } from '../../api/free-routes.ts'
import { measureRefusals } from '../../api/metrics/refusal-metrics.ts'
import { measureRequests } from '../../api/metrics/request-durations.ts'
import { buildServer } from '../../api/server.ts'
import { chartContracts, contracts } from '../../compute/analyses/registry.ts'
import { trackRecordContract } from '../../compute/track-record-statistics/track-record-document.ts'
import { version } from '../../config/environment.ts'
import type { ServeOptions } from '../../config/serve.ts'
import type { SteadyClock } from '../../domain/steady-clock.ts'
import { quoteLimit } from '../../payment/quote-limit.ts'
import { storedClaims } from '../../store/stored-claims.ts'
import { readConsolePage } from '../console-files.ts'
import { readDocsViewer } from '../docs-viewer.ts'
import type { Tracing } from '../tracing.ts'
import type { Traffic } from './desk.ts'
import { openFilesMax } from './open-files.ts'
import { publicUrlOf } from './public-url.ts'
import type { Selling } from './selling.ts'

const EXAMPLE_COIN = 'BTC'

type Context = Pick<
  FreeRoutesOptions,
  'engine' | 'maintenance' | 'mirror' | 'proofs' | 'status'
> & {
  readonly selling: Selling
  readonly clock: SteadyClock
  readonly log: Logger
  readonly metrics: Registry
  readonly traffic: Traffic
  readonly tracing: Tracing
}

/** The public server with all analyses. */
export function publicServer(options: ServeOptions, context: Context): FastifyInstance {
  const { engine, maintenance, clock, log, mirror, traffic, status, proofs } = context
  const { gate, sales, methods, receipts, clockCheck, rateLimits } = context.selling
  const isSold = gate !== null
  const page = readConsolePage()
  const server = buildServer({
    ...{ contracts, engine, maintenance, clock, version, status },
    ...(mirror && { mirror }),
    ...(proofs && { proofs }),
    exampleCoin: EXAMPLE_COIN,
    trackRecord: trackRecordContract,
    claimsOf:
      mirror === undefined
        ? (family, dayMs) => storedClaims(join(options.dataDir, 'history.db'), family, dayMs)
        : null,
    console:
      page === null ? null : { page, charts: chartContracts, sampleCoin: options.sampleCoin },
    payment: gate,
    quoteLimit: isSold ? quoteLimit(options.quotesPerAddressPerMinute, rateLimits) : null,
    readiness: { isClockOff: () => clockCheck.fault !== null, sales },
    logger: log,
    accessLog: options.accessLog === 'on',
    openFilesMax: openFilesMax(),
    defer: (task) => setImmediate(task),
    discovery: {
      publicUrl: publicUrlOf(options),
      contactEmail: options.contactEmail,
      waysToPay: methods.filter(({ isSuspended }) => isSuspended !== true),
      ...(isSold && {
        limits: {
          salesPerWallet: options.salesPerWalletPerMinute,
          quotesPerAddress: options.quotesPerAddressPerMinute,
        },
      }),
      receiptSigner: receipts?.signer,
      docsViewer: readDocsViewer(),
    },
    ...(options.trustProxy === undefined ? {} : { trustProxy: options.trustProxy }),
  })
  context.tracing.observe(server)
  measureRequests(server, context.metrics)
  traffic.requests.observe(server)
  traffic.counts.observe(server)
  measureRefusals(context.metrics, traffic.counts)
  return server
}
