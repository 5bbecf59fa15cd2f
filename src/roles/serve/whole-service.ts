import type { EffectiveConfiguration } from '../../config/effective.ts'
import type { ServeOptions } from '../../config/serve.ts'
import { collectWhenLoaded } from '../lean-process.ts'
import { newReplica } from '../new-replica.ts'
import { countFeedEvents } from '../spawn-engine.ts'
import { tracingTo } from '../tracing.ts'
import { warmUpLog } from '../warm-up.ts'
import { lockDataFolder, prepareDataFolder } from './data-folder.ts'
import { deskOf, moneyOf, newTraffic } from './desk.ts'
import { adminListener, foundationOf } from './foundation.ts'
import { localEngine } from './local-engine.ts'
import { measuring } from './measuring.ts'
import { openFilesWatch } from './open-files.ts'
import { openLedger, ownMaintenance } from './open-ledger.ts'
import { keepProofs } from './proofs.ts'
import { publicServer } from './public-server.ts'
import { runService } from './running-service.ts'
import { logUp, openSelling } from './selling.ts'
import { statusKeeping } from './status-keeping.ts'

/** `--role all`: gateway in this thread, engine in a worker thread, admin server. */
export async function serveAll(
  options: ServeOptions,
  configuration: EffectiveConfiguration,
): Promise<void> {
  const { dataDir, host, port } = options
  const lock = lockDataFolder(options.source, dataDir)
  const foundation = await foundationOf(options, configuration)
  const { log, clock, metrics } = foundation
  const tracing = await tracingTo(options.otlpEndpoint, log)
  prepareDataFolder(dataDir, log)
  const engine = newReplica()
  const engineThread = await localEngine(options, engine, foundation)
  countFeedEvents(engine, metrics)
  const books = options.payment === 'open' ? null : await openLedger(options, log)
  const maintenance = books?.maintenance ?? ownMaintenance(dataDir)
  const traffic = newTraffic(clock)
  const onPayment = traffic.counts.record
  const proofs = books === null ? null : keepProofs(books.proofs, engine, foundation)
  const common = { engine, maintenance, ...foundation, traffic, onPayment, ...proofs }
  const selling = await openSelling(books, options, common)
  const status = statusKeeping(
    options.dataDir,
    { engine, maintenance, checks: selling.checks },
    foundation,
  )
  const server = publicServer(options, { ...common, selling, status, tracing })
  const controls = { maintenance, checks: selling.checks, restartEngine: engineThread.restart }
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
      warmUpLog(engine, clock, log),
      engineThread,
      { stop: collectWhenLoaded(clock) },
      openFilesWatch(log),
      doctor,
      ...(proofs === null ? [] : [proofs]),
      ...selling.parts,
      // After the ledger: an unreachable trace collector delays the exit by a second.
      tracing,
      lock,
    ],
    foundation,
  )
  if (isRunning) logUp(options, log)
}
