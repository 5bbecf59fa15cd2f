import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { Worker } from 'node:worker_threads'
import closeWithGrace from 'close-with-grace'
import type { Logger } from 'pino'
import { Counter, collectDefaultMetrics, Registry } from 'prom-client'
import { buildAdminServer } from '../api/admin-server.ts'
import { MAINTENANCE_RETRY_SECONDS } from '../api/analysis-refusals.ts'
import type { PaymentGate } from '../api/analysis-routes.ts'
import { MaintenanceSwitch } from '../api/maintenance-switch.ts'
import { buildServer } from '../api/server.ts'
import { pulse } from '../compute/analyses/pulse/pulse.ts'
import { contracts } from '../compute/analyses/registry.ts'
import { version } from '../config/environment.ts'
import type { ServeOptions } from '../config/serve.ts'
import { checkServeOptions } from '../config/serve.ts'
import { OperatingError, reasonOf } from '../domain/errors.ts'
import type { SteadyClock } from '../domain/steady-clock.ts'
import { openRecorder } from '../engine/recorder.ts'
import { EngineReplica } from '../link/engine-replica.ts'
import type { SpawnEngine, SupervisorNotice } from '../link/engine-supervisor.ts'
import { EngineSupervisor } from '../link/engine-supervisor.ts'
import type { EngineMessage } from '../link/message.ts'
import { OfferReceipts } from '../payment/extensions/offer-receipt.ts'
import { finalityOf } from '../payment/finality.ts'
import type { HealthMonitor } from '../payment/health-monitor.ts'
import { InFlightPayments } from '../payment/in-flight-payments.ts'
import { PaymentLedger } from '../payment/ledger.ts'
import type { PaymentMethod } from '../payment/payment.ts'
import type { PaymentEvent } from '../payment/payment-event.ts'
import { payments } from '../payment/plugin.ts'
import { quoteLimit } from '../payment/quote-limit.ts'
import type { SalesReadiness } from '../payment/sales-readiness.ts'
import { checkRestored, lockDataDir, PRIVATE_UMASK, protectDataDir } from '../store/data-dir.ts'
import { MaintenanceFile } from '../store/maintenance-file.ts'
import { readDocsViewer } from './docs-viewer.ts'
import type { EngineThreadOptions } from './engine-thread.ts'
import { externalAddresses } from './external-source.ts'
import {
  examineFacilitators,
  hostedFacilitators,
  measureFacilitators,
} from './hosted-facilitators.ts'
import { listeningOn } from './listening-on.ts'
import { processLogger } from './logger.ts'
import { paymentChannels } from './payment-channels.ts'
import { paymentMethods } from './payment-methods.ts'
import { observePayments } from './payment-metrics.ts'
import { clockCheckOf, measureReadiness, salesReadiness } from './sales-readiness.ts'
import { loadSqlite } from './sqlite-binding.ts'
import { steadySystemClock, systemClock } from './system-clock.ts'
import { claimFor, venueOf } from './venue-source.ts'
import { tellWarmUp } from './warm-up.ts'

const EXAMPLE_COIN = 'BTC'
/** For calls under way. What is left of the grace is for the engine's last checkpoint. */
const DRAIN_MS_MAX = 10_000
const GRACE_MS_MAX = 15_000
const LOOPBACK = '127.0.0.1'
/** Nobody guesses 128 bits; in base64url they are the 22 characters of `answer-access`. */
const SECRET_BYTES = 16

/** `perpscope serve`: gateway on this thread, engine on its own, admin interface on loopback. */
export async function serve(options: ServeOptions): Promise<void> {
  checkServeOptions(options)
  process.umask(PRIVATE_UMASK)
  loadSqlite()
  // Held until the process ends, also where the start is refused below.
  const lock = lockDataDir(options.dataDir)
  checkRestored(options.dataDir)
  claimFor(options.source, options.dataDir)
  const log = await processLogger(options)
  for (const reason of protectDataDir(options.dataDir))
    log.warn({ reason }, 'other users of this machine may be able to read paid answers')
  const recording =
    options.record === undefined
      ? undefined
      : { path: options.record, bytesMax: options.recordMaxBytes }
  // The engine goes on without a file that fails; one that never worked is worth a word now.
  if (recording !== undefined)
    await (await openRecorder(recording, systemClock, () => {})).log.close()
  const clock = steadySystemClock()
  const spawn = spawnEngineThread(
    {
      engine: {
        venue: venueOf(options.source),
        weightPerMinute: options.weightPerMinute,
        dexes: options.dexes,
        dataDir: options.dataDir,
        version,
      },
      external: externalAddresses(options),
      recording,
      log: { logLevel: options.logLevel, logFormat: options.logFormat },
    },
    clock,
  )
  const hosted = options.payment === 'open' ? null : hostedFacilitators(options, log)
  const metrics = new Registry()
  collectDefaultMetrics({ register: metrics })
  const channels = await paymentChannels(options, log, metrics)
  // First: who is barred stands there. A start that is refused ends the process, and the lock with it.
  const ledger =
    options.payment === 'open'
      ? null
      : new PaymentLedger(join(options.dataDir, 'ledger.db'), (task) => setImmediate(task))
  const replica = new EngineReplica({
    analysis: pulse.contract.id,
    view: pulse.contract.defaultView,
  })
  const clockCheck = clockCheckOf(replica, clock)
  const watches: HealthMonitor[] = []
  const exact =
    ledger === null
      ? []
      : await paymentMethods(options, log, hosted, metrics, {
          clock: clockCheck,
          watches,
          failures: ledger.failures,
        })
  // Channels are opened and claimed by the node and the gas of the first.
  const readiness = exact[0]?.readiness
  const methods = [
    ...exact,
    ...(channels === null ? [] : [{ ...channels.method, ...(readiness && { readiness }) }]),
  ]
  if (hosted !== null) await examineFacilitators(hosted)
  if (hosted !== null) measureFacilitators(hosted, metrics)
  const supervisor = new EngineSupervisor({
    spawn,
    replica,
    clock,
    onNotice: (notice) => logNotice(log, notice),
  })
  countEngine(replica, metrics)
  const maintenance = new MaintenanceSwitch(
    systemClock.nowMs(),
    new MaintenanceFile(join(options.dataDir, 'maintenance')),
  )
  const { sales, ...ledgerWatch } = salesReadiness(methods, ledger, clockCheck, log)
  const checks = () => sales?.checks() ?? [{ check: 'clock', fault: clockCheck.fault }]
  measureReadiness({ checks, methods, clock: clockCheck }, metrics)
  const publicUrl = publicUrlOf(options)
  const receipts = receiptsOf(options)
  if (receipts !== null) log.info({ signer: receipts.signer }, 'offers and receipts are signed')
  const server = buildServer({
    contracts,
    engine: replica,
    maintenance,
    clock,
    version,
    exampleCoin: EXAMPLE_COIN,
    payment:
      ledger === null
        ? null
        : paymentGate({
            options,
            publicUrl,
            methods,
            ledger,
            receipts,
            maintenance,
            log,
            metrics,
            sales,
          }),
    quoteLimit: ledger === null ? null : quoteLimit(options.quotesPerAddressPerMinute),
    readiness: { isClockOff: () => clockCheck.fault !== null, sales },
    logger: log,
    accessLog: options.accessLog === 'on',
    defer: (task) => setImmediate(task),
    discovery: {
      publicUrl,
      contactEmail: options.contactEmail,
      waysToPay: methods.filter(({ isSuspended }) => isSuspended !== true),
      ...(ledger !== null && {
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
  const admin = buildAdminServer({
    engine: replica,
    maintenance,
    metrics,
    clock,
    logger: log,
    checks,
    restartEngine: () => supervisor.restart('asked by the operator'),
  })

  let stopWarmUp = () => {}
  const close = async () => {
    stopWarmUp()
    const cancel = systemClock.after(DRAIN_MS_MAX, () => {
      server.server.closeAllConnections()
      admin.server.closeAllConnections()
    })
    await Promise.all([server.close(), admin.close()])
    cancel()
    await supervisor.stop()
    for (const watch of [ledgerWatch, ...watches]) watch.stop()
    hosted?.stop()
    await channels?.stop()
    ledger?.close()
    lock.close()
  }
  const grace = closeWithGrace({ delay: GRACE_MS_MAX, logger: log }, ({ err }) => {
    if (err) log.fatal({ err }, 'ending because of a defect')
    return close()
  })

  try {
    await listeningOn('--port', server.listen({ port: options.port, host: options.host }))
    await listeningOn('--admin-port', admin.listen({ port: options.adminPort, host: LOOPBACK }))
  } catch (cause) {
    grace.uninstall()
    await close()
    throw cause
  }
  supervisor.start()
  for (const watch of [ledgerWatch, ...watches]) watch.start()
  stopWarmUp = tellWarmUp(replica, clock, log)
  hosted?.start()
  channels?.start()
  if (options.payment === 'open')
    log.warn('--payment open: every answer is given away, to anybody who can reach this port')
  log.info({ source: options.source, payment: options.payment }, `perpscope ${version} is up`)
}

/**
 * The engine in a worker thread. `kill` gives it no chance to say goodbye: that is what it is for. The first thread
 * is made at once, and loads its code while the gateway is built.
 */
function spawnEngineThread(
  options: Omit<EngineThreadOptions, 'clockAnchor'>,
  clock: SteadyClock,
): SpawnEngine {
  const threadFile = new URL('./engine-thread.js', import.meta.url)
  const newThread = () => {
    const worker = new Worker(threadFile, { name: 'engine' })
    return { worker, ended: endOf(worker) }
  }
  let waiting: ReturnType<typeof newThread> | null = newThread()
  // A gateway that cannot start ends without it.
  waiting.worker.unref()
  // One that died before it began has not told all that is remembered, and asked the venue for nothing.
  let hasBegun = false
  return ({ onMessage, onExit, isClockNew }) => {
    const { worker, ended } = waiting ?? newThread()
    waiting = null
    worker.ref()
    void ended.then(onExit)
    worker.postMessage({
      ...options,
      engine: { ...options.engine, isRestart: hasBegun, isClockNew },
      clockAnchor: clock.anchor(),
    } satisfies EngineThreadOptions)
    worker.on('message', (message: EngineMessage) => {
      hasBegun ||= message.kind === 'heartbeat'
      onMessage(message)
    })
    return {
      kill: () => void worker.terminate(),
      stop: () => worker.postMessage('stop'),
    }
  }
}

/** Why a thread ended, also where nobody had asked for it yet. */
function endOf(worker: Worker): Promise<string> {
  return new Promise((resolve) => {
    let reason = 'ended'
    worker.on('error', (cause) => {
      // A thread's errors come without their class.
      const isExpected = cause instanceof Error && cause.name === OperatingError.name
      reason = isExpected ? reasonOf(cause) : inspect(cause)
    })
    worker.on('exit', (code) => resolve(`${reason} (code ${code})`))
  })
}

/** What the engine counts, as counters of ours: its own begin anew with every start. */
function countEngine(engine: EngineReplica, metrics: Registry): void {
  const seen = new Map<string, number>()
  new Counter({
    name: 'perpscope_feed_notices_total',
    help: 'What the feed had to say, by kind and reason.',
    labelNames: ['notice'],
    registers: [metrics],
    collect() {
      for (const [notice, count] of Object.entries(engine.counts())) {
        const before = seen.get(notice) ?? 0
        this.inc({ notice }, count >= before ? count - before : count)
        seen.set(notice, count)
      }
    },
  })
}

function paymentGate({
  options,
  publicUrl,
  methods,
  ledger,
  receipts,
  maintenance,
  log,
  metrics,
  sales,
}: {
  readonly options: ServeOptions
  readonly publicUrl: string
  readonly methods: readonly PaymentMethod[]
  readonly ledger: PaymentLedger
  readonly receipts: OfferReceipts | null
  readonly maintenance: MaintenanceSwitch
  readonly log: Logger
  readonly metrics: Registry
  readonly sales: SalesReadiness | null
}): PaymentGate {
  const inFlightPayments = new InFlightPayments()
  const observe = observePayments(metrics, { ledger, inFlightPayments })
  return async (app) => {
    await app.register(payments, {
      methods,
      ledger,
      inFlightPayments,
      limits: { paidCallsPerWalletPerMinute: options.salesPerWalletPerMinute },
      finality: (amount) => finalityOf(options.finality, amount),
      exposure: { payerMax: options.broadcastPayerMax, totalMax: options.broadcastTotalMax },
      ...(receipts && { receipts }),
      clock: systemClock,
      publicUrl,
      newSecret: () => randomBytes(SECRET_BYTES).toString('base64url'),
      closure: {
        isClosed: () => maintenance.isOn,
        retryAfterSeconds: MAINTENANCE_RETRY_SECONDS,
      },
      onEvent: (event) => {
        observe(event)
        sales?.record(event)
        logPayment(log, event)
      },
    })
  }
}

function receiptsOf({ payment, receiptKey: key }: ServeOptions): OfferReceipts | null {
  if (payment === 'open' || key === undefined) return null
  return new OfferReceipts({ key, clock: systemClock })
}

/** Without a slash at its end. */
function publicUrlOf({ publicUrl, host, port }: ServeOptions): string {
  return (publicUrl ?? `http://${hostInUrl(host)}:${port}`).replace(/\/+$/, '')
}

function hostInUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}

function logPayment(log: Logger, { cause, ...event }: PaymentEvent): void {
  if (event.kind === 'failed') log.error({ ...event, err: cause }, 'payment')
  else if (event.kind === 'lost') log.error(event, 'payment')
  else if (event.kind !== 'quoted' && event.kind !== 'verified') log.info(event, 'payment')
}

function logNotice(log: Logger, notice: SupervisorNotice): void {
  if (notice.kind === 'engine-started') log.info(notice, 'engine')
  else log.error(notice, 'engine')
}
