import { join } from 'node:path'
import closeWithGrace from 'close-with-grace'
import type { Logger } from 'pino'
import { collectDefaultMetrics, Registry } from 'prom-client'
import { buildAdminServer } from '../api/admin-server.ts'
import { MaintenanceSwitch } from '../api/maintenance-switch.ts'
import { buildServer } from '../api/server.ts'
import { pulse } from '../compute/analyses/pulse/pulse.ts'
import { contracts } from '../compute/analyses/registry.ts'
import { checkServeOptions } from '../config/check-serve.ts'
import { version } from '../config/environment.ts'
import type { PaymentSettings } from '../config/payment.ts'
import type { ListenOptions, ServeOptions } from '../config/serve.ts'
import { openRecorder } from '../engine/recorder.ts'
import { EngineReplica } from '../link/engine-replica.ts'
import type { SupervisorNotice } from '../link/engine-supervisor.ts'
import { EngineSupervisor } from '../link/engine-supervisor.ts'
import { OfferReceipts } from '../payment/extensions/offer-receipt.ts'
import type { HealthMonitor } from '../payment/health-monitor.ts'
import { PaymentLedger } from '../payment/ledger.ts'
import { quoteLimit } from '../payment/quote-limit.ts'
import { checkRestored, lockDataDir, PRIVATE_UMASK, protectDataDir } from '../store/data-dir.ts'
import { MaintenanceFile } from '../store/maintenance-file.ts'
import { readDocsViewer } from './docs-viewer.ts'
import { externalAddresses } from './external-source.ts'
import {
  examineFacilitators,
  hostedFacilitators,
  measureFacilitators,
} from './hosted-facilitators.ts'
import { listeningOn } from './listening-on.ts'
import { processLogger } from './logger.ts'
import { paymentChannels } from './payment-channels.ts'
import { paymentGate } from './payment-gate.ts'
import { paymentMethods } from './payment-methods.ts'
import { clockCheckOf, measureReadiness, salesReadiness } from './sales-readiness.ts'
import { countFeedEvents, spawnEngineThread } from './spawn-engine.ts'
import { loadSqlite } from './sqlite-binding.ts'
import { steadySystemClock, systemClock } from './system-clock.ts'
import { claimFor, venueOf } from './venue-source.ts'
import { logWarmUp } from './warm-up.ts'

const EXAMPLE_COIN = 'BTC'
/** For calls in progress. The rest of the grace period is for the last checkpoint of the engine. */
const DRAIN_MS_MAX = 10_000
const GRACE_MS_MAX = 15_000
const LOOPBACK = '127.0.0.1'

/** `perpscope serve`: gateway in this thread, engine in a worker thread, admin server on loopback. */
export async function serve(options: ServeOptions): Promise<void> {
  checkServeOptions(options)
  process.umask(PRIVATE_UMASK)
  loadSqlite()
  // Held until the process ends, also if a check below refuses the start.
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
  // Later failures only stop the recording; a file that cannot be opened now refuses the start.
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
  // Opened first, because payment methods read the barred payers. If the start is refused, the process ends with its lock.
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
  // Channels use the node and the gas account of the first method.
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
  countFeedEvents(replica, metrics)
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
        : paymentGate(options, {
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
    restartEngine: () => supervisor.restart('requested by the operator'),
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
    if (err) log.fatal({ err }, 'stopping after an internal error')
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
  stopWarmUp = logWarmUp(replica, clock, log)
  hosted?.start()
  channels?.start()
  if (options.payment === 'open')
    log.warn('--payment open: all answers are free for everyone who can reach this port')
  log.info({ source: options.source, payment: options.payment }, `perpscope ${version} is up`)
}

function receiptsOf({ payment, receiptKey: key }: PaymentSettings): OfferReceipts | null {
  if (payment === 'open' || key === undefined) return null
  return new OfferReceipts({ key, clock: systemClock })
}

/** Without a trailing slash. */
function publicUrlOf({ publicUrl, host, port }: ListenOptions): string {
  return (publicUrl ?? `http://${hostInUrl(host)}:${port}`).replace(/\/+$/, '')
}

function hostInUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}

function logNotice(log: Logger, notice: SupervisorNotice): void {
  if (notice.kind === 'engine-started') log.info(notice, 'engine')
  else log.error(notice, 'engine')
}
