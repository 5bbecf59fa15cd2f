import type { Clock } from '../../domain/clock.ts'
import type { AnalysisContract } from '../../domain/contract.ts'
import type { HealthReport, ThreadUsage } from '../../domain/desk-reports.ts'
import type { EngineReplica } from '../../link/engine-replica.ts'
import type { HealthFault } from '../../payment/health-monitor.ts'
import { documentFigures } from './document-figures.ts'
import type { RequestStatistics } from './request-statistics.ts'
import { reusedFor } from './reused.ts'
import { sourceFigures } from './source-figures.ts'

export type HealthSources = {
  readonly clock: Pick<Clock, 'nowMs'>
  readonly version: string
  readonly role: HealthReport['role']
  readonly contracts: readonly AnalysisContract[]
  readonly engine: EngineReplica
  /** null in a process that serves no requests. */
  readonly requests: RequestStatistics | null
  /** Of the thread that composes the report. */
  readonly usage: () => ThreadUsage
  readonly residentBytes: () => number
  readonly disk: () => HealthReport['disk']
  readonly checks: () => readonly { readonly check: string; readonly fault: HealthFault | null }[]
}

/** Just below the period of its readers, so that none gets the same report twice. */
const PERIOD_MS = 900
const DOCUMENTS_PERIOD_MS = 5_000

/** Composes the report when it is asked for; readers within a second share one. */
export function healthReports(sources: HealthSources): () => Promise<HealthReport> {
  const { clock, contracts, engine } = sources
  const startedAtMs = clock.nowMs()
  const documents = reusedFor(DOCUMENTS_PERIOD_MS, clock, async () =>
    contracts.map((contract) => documentFigures(contract, engine, clock.nowMs())),
  )
  return reusedFor(PERIOD_MS, clock, async () => ({
    ...presentFigures(sources),
    startedAtMs,
    documents: await documents(),
  }))
}

function presentFigures({
  clock,
  version,
  role,
  engine,
  requests,
  ...process
}: HealthSources): Omit<HealthReport, 'startedAtMs' | 'documents'> {
  const nowMs = clock.nowMs()
  const { heartbeat } = engine
  const engineThread = heartbeat?.thread
  return {
    nowMs,
    version,
    role,
    engine: {
      state: engine.state(nowMs),
      startedAtMs: heartbeat?.startedAtMs ?? null,
      heartbeatAgeMs: heartbeat === null ? null : Math.max(0, nowMs - heartbeat.receivedAtMs),
      venueAheadMs: engine.venueAheadMs(),
    },
    sources: sourceFigures(engine, nowMs),
    threads: [
      { thread: 'gateway', ...process.usage() },
      ...(engineThread === undefined ? [] : [{ thread: 'engine' as const, ...engineThread }]),
    ],
    residentBytes: process.residentBytes(),
    requests: requests?.figures() ?? null,
    store: engine.store(),
    recording: engine.recording(),
    disk: process.disk(),
    checks: process.checks(),
  }
}
