import { statSync } from 'node:fs'
import { totalmem } from 'node:os'
import { join } from 'node:path'
import type { Registry } from 'prom-client'
import { Gauge } from 'prom-client'
import type { MaintenanceState } from '../../api/maintenance-switch.ts'
import { measureDisk } from '../../api/metrics/disk-metrics.ts'
import { measureDocuments } from '../../api/metrics/document-metrics.ts'
import { measureEngine } from '../../api/metrics/engine-metrics.ts'
import { readGauge } from '../../api/metrics/read-gauge.ts'
import { measureThreads, ThreadReadings } from '../../api/metrics/thread-metrics.ts'
import { contracts } from '../../compute/analyses/registry.ts'
import { version } from '../../config/environment.ts'
import type { ServeOptions } from '../../config/serve.ts'
import type { Clock } from '../../domain/clock.ts'
import type { EngineReplica } from '../../link/engine-replica.ts'
import { dataFiles } from '../backup/data-files.ts'
import { ThreadMeter } from '../thread-usage.ts'
import { measureWarmUp } from '../warm-up.ts'
import { diskOf } from './desk.ts'
import type { ServicePart } from './running-service.ts'

const PERIOD_MS = 1_000
/** Figures of the last minute. */
const KEPT_MS = 60_000

/**
 * Metrics of every role: engine, documents, both threads, disk. Threads are read once a second.
 * @param maintenance null in a process that sells nothing
 */
export function measuring(
  { dataDir, role }: Pick<ServeOptions, 'dataDir' | 'role'>,
  engine: EngineReplica,
  { clock, metrics }: { readonly clock: Clock; readonly metrics: Registry },
  maintenance: MaintenanceState | null,
): ServicePart {
  measureEngine(metrics, engine, clock)
  measureDocuments(metrics, contracts, engine, clock)
  measureWarmUp(metrics, engine)
  // A gateway has some kB there, perhaps on a small file system in memory: its size says nothing.
  if (role !== 'gateway')
    measureDisk(metrics, { disk: () => diskOf(dataDir), files: () => databasesIn(dataDir) })
  measureProcess(metrics, role)
  if (maintenance !== null)
    readGauge(metrics, 'perpscope_maintenance', '1 in maintenance mode: nothing is sold.', () =>
      maintenance.isOn ? 1 : 0,
    )
  const threads = { gateway: new ThreadReadings(), engine: new ThreadReadings() }
  measureThreads(metrics, threads)
  const meter = new ThreadMeter()
  let heartbeatAtMs = Number.NaN
  let stop = () => {}
  return {
    start: () => {
      stop = clock.every(PERIOD_MS, () => {
        threads.gateway.add(meter.read())
        const { heartbeat } = engine
        if (heartbeat !== null && clock.nowMs() - heartbeat.receivedAtMs > KEPT_MS)
          threads.engine.clear()
        if (heartbeat?.thread === undefined || heartbeat.receivedAtMs === heartbeatAtMs) return
        heartbeatAtMs = heartbeat.receivedAtMs
        threads.engine.add(heartbeat.thread)
      })
    },
    stop: () => stop(),
  }
}

function measureProcess(metrics: Registry, role: ServeOptions['role']): void {
  new Gauge({
    name: 'perpscope_build_info',
    help: 'Version of the service and of Node, and the role of this process.',
    labelNames: ['version', 'node', 'role'],
    registers: [metrics],
  }).set({ version, node: process.version, role }, 1)
  readGauge(
    metrics,
    'perpscope_memory_limit_bytes',
    'Memory that this process may use: of its container, or of the machine.',
    () => Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem()),
  )
}

function databasesIn(dataDir: string): readonly (readonly [string, number])[] {
  return dataFiles
    .filter(({ kind }) => kind !== 'plain')
    .flatMap(({ name }) => [name, `${name}-wal`])
    .flatMap((name) => {
      const size = statSync(join(dataDir, name), { throwIfNoEntry: false })?.size
      return size === undefined ? [] : [[name, size] as const]
    })
}
