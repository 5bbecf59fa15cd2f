import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import closeWithGrace from 'close-with-grace'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { Counter, collectDefaultMetrics, Registry } from 'prom-client'
import { buildAdminServer } from '../api/admin-server.ts'
import type { PaymentGate } from '../api/analysis-routes.ts'
import { MaintenanceSwitch } from '../api/maintenance-switch.ts'
import { buildServer } from '../api/server.ts'
import { pulse } from '../compute/analyses/pulse/pulse.ts'
import { analyses } from '../compute/analyses/registry.ts'
import type { ServeOptions } from '../config.ts'
import { checkServeOptions, version } from '../config.ts'
import { EngineReplica } from '../link/engine-replica.ts'
import type { SpawnEngine, SupervisorNotice } from '../link/engine-supervisor.ts'
import { EngineSupervisor } from '../link/engine-supervisor.ts'
import type { EngineMessage } from '../link/message.ts'
import type { Facilitator } from '../payment/facilitator.ts'
import { httpFacilitator } from '../payment/http-facilitator.ts'
import { PaymentLedger } from '../payment/ledger.ts'
import { localFacilitator } from '../payment/local-facilitator.ts'
import { base, baseSepolia } from '../payment/networks.ts'
import type { PaymentEvent } from '../payment/payment-event.ts'
import { payments } from '../payment/plugin.ts'
import { quoteLimit } from '../payment/quote-limit.ts'
import { MaintenanceFile } from '../store/maintenance-file.ts'
import type { EngineOptions } from './engine.ts'
import { processLogger } from './logger.ts'
import { systemClock } from './system-clock.ts'

const LIVE_VENUE = {
  wsUrl: 'wss://api.hyperliquid.xyz/ws',
  infoUrl: 'https://api.hyperliquid.xyz/info',
}

const EXAMPLE_COIN = 'BTC'
const DRAIN_MS_MAX = 15_000
const LOOPBACK = '127.0.0.1'

/** `perpscope serve`: gateway on this thread, engine on its own, admin interface on loopback. */
export async function serve(options: ServeOptions): Promise<void> {
  checkServeOptions(options)
  const log = processLogger(options.logLevel)
  const metrics = new Registry()
  collectDefaultMetrics({ register: metrics })
  const replica = new EngineReplica({
    analysis: pulse.contract.id,
    view: pulse.contract.defaultView,
  })
  const supervisor = new EngineSupervisor({
    spawn: spawnEngineThread({
      venue: venueOf(options.source),
      weightPerMinute: options.weightPerMinute,
      dataDir: options.dataDir,
      version,
      logLevel: options.logLevel,
    }),
    replica,
    clock: systemClock,
    onNotice: (notice) => logNotice(log, notice),
  })
  const maintenance = new MaintenanceSwitch(
    systemClock.nowMs(),
    new MaintenanceFile(join(options.dataDir, 'maintenance')),
  )
  const ledger =
    options.payment === 'open' ? null : new PaymentLedger(join(options.dataDir, 'ledger.db'))

  const server = buildServer({
    contracts: analyses.map((analysis) => analysis.contract),
    engine: replica,
    maintenance,
    clock: systemClock,
    version,
    exampleCoin: EXAMPLE_COIN,
    payment: ledger === null ? null : paymentGate(options, ledger, log, metrics),
    quoteLimit: ledger === null ? null : quoteLimit(),
    logger: log,
    accessLog: options.accessLog,
  })
  const admin = buildAdminServer({
    engine: replica,
    maintenance,
    metrics,
    clock: systemClock,
    logger: log,
    restartEngine: () => supervisor.restart('asked by the operator'),
  })

  closeWithGrace({ delay: DRAIN_MS_MAX, logger: log }, async ({ err }) => {
    if (err) log.fatal({ err }, 'ending because of a defect')
    await Promise.all([server.close(), admin.close()])
    await supervisor.stop()
    ledger?.close()
  })

  supervisor.start()
  await listen(server, options.port, options.host)
  await listen(admin, options.adminPort, LOOPBACK)
  if (options.payment === 'open')
    log.warn('--payment open: every answer is given away, to anybody who can reach this port')
  log.info({ source: options.source, payment: options.payment }, `perpscope ${version} is up`)
}

function venueOf(source: string): EngineOptions['venue'] {
  if (source === 'live') return LIVE_VENUE
  const base = source.replace(/\/(info\/?)?$/, '')
  return { wsUrl: `${base.replace(/^http/, 'ws')}/ws`, infoUrl: `${base}/info` }
}

async function listen(server: FastifyInstance, port: number, host: string): Promise<void> {
  await server.listen({ port, host })
}

/** The engine in a worker thread. `kill` gives it no chance to say goodbye: that is what it is for. */
function spawnEngineThread(options: EngineOptions): SpawnEngine {
  return ({ onMessage, onExit }) => {
    const worker = new Worker(new URL('./engine-thread.js', import.meta.url), {
      workerData: options,
      name: 'engine',
    })
    worker.on('message', (message: EngineMessage) => onMessage(message))
    let reason = 'ended'
    worker.on('error', (cause) => {
      reason = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)
    })
    worker.on('exit', (code) => onExit(`${reason} (code ${code})`))
    return {
      kill: () => void worker.terminate(),
      stop: () => worker.postMessage('stop'),
    }
  }
}

function paymentGate(
  options: ServeOptions,
  ledger: PaymentLedger,
  log: Logger,
  metrics: Registry,
): PaymentGate {
  const events = new Counter({
    name: 'perpscope_payment_events_total',
    help: 'What happened to quotes and payments.',
    labelNames: ['kind', 'route'],
    registers: [metrics],
  })
  const network = options.network === 'base' ? base : baseSepolia
  const payTo = options.payTo
  if (payTo === undefined) throw new Error('checked: x402 has a payee')
  return async (app) => {
    await app.register(payments, {
      payTo,
      networks: [network],
      facilitator: facilitatorOf(options, network),
      ledger,
      clock: systemClock,
      publicUrl: options.publicUrl ?? `http://${options.host}:${options.port}`,
      onEvent: (event) => {
        events.inc({ kind: event.kind, route: event.route ?? 'none' })
        logPayment(log, event)
      },
    })
  }
}

function facilitatorOf(options: ServeOptions, network: typeof base): Facilitator {
  const { rpcUrl, facilitatorKey, facilitatorUrl } = options
  if (rpcUrl !== undefined && facilitatorKey !== undefined)
    return localFacilitator({ network, rpcUrl, privateKey: facilitatorKey })
  if (facilitatorUrl === undefined) throw new Error('checked: somebody settles')
  return httpFacilitator({ url: facilitatorUrl, ...(rpcUrl === undefined ? {} : { rpcUrl }) })
}

function logPayment(log: Logger, { cause, ...event }: PaymentEvent): void {
  if (event.kind === 'failed') log.error({ ...event, err: cause }, 'payment')
  else if (event.kind !== 'quoted') log.info(event, 'payment')
}

function logNotice(log: Logger, notice: SupervisorNotice): void {
  if (notice.kind === 'engine-started') log.info(notice, 'engine')
  else log.error(notice, 'engine')
}
