import { statfsSync } from 'node:fs'
import type { AdminServerOptions } from '../../api/admin-server.ts'
import { controlReports } from '../../api/desk/control-report.ts'
import { healthReports } from '../../api/desk/health-report.ts'
import { moneyReports, withoutSales } from '../../api/desk/money-report.ts'
import { RequestStatistics } from '../../api/desk/request-statistics.ts'
import { SalesCounts } from '../../api/desk/sales-counts.ts'
import { contracts } from '../../compute/analyses/registry.ts'
import { version } from '../../config/environment.ts'
import type { ServeOptions } from '../../config/serve.ts'
import type { Clock } from '../../domain/clock.ts'
import type { HealthReport, MoneyReport } from '../../domain/desk-reports.ts'
import type { EngineReplica } from '../../link/engine-replica.ts'
import type { Channel } from '../../payment/channels/channel-store.ts'
import type { Ledger } from '../../payment/ledger/ledger.ts'
import { DoctorRun, doctorCommand } from '../doctor-run.ts'
import { systemClock } from '../system-clock.ts'
import { lastReading, ThreadMeter } from '../thread-usage.ts'
import type { Foundation } from './foundation.ts'
import type { ServicePart } from './running-service.ts'

/** What the public server and the payments of this process count for the desk. */
export type Traffic = { readonly requests: RequestStatistics; readonly counts: SalesCounts }

export function newTraffic(clock: Pick<Clock, 'nowMs'>): Traffic {
  return { requests: new RequestStatistics(clock), counts: new SalesCounts() }
}

type DeskContext = Pick<AdminServerOptions, 'maintenance' | 'restartEngine' | 'checks'> & {
  readonly engine: EngineReplica
  /** null in a process that serves no requests. */
  readonly requests: RequestStatistics | null
  readonly money: () => Promise<MoneyReport>
}

/** The reports of the admin port, and the run of the doctor as a part that ends with the service. */
export function deskOf(
  options: ServeOptions,
  { clock, warnings, configuration }: Foundation,
  { engine, maintenance, restartEngine, checks = () => [], requests, money }: DeskContext,
): { readonly desk: AdminServerOptions['desk']; readonly doctor: ServicePart } {
  const meter = new ThreadMeter()
  const doctor = new DoctorRun(doctorCommand(process), systemClock)
  const reports = {
    health: healthReports({
      ...{ clock, version, role: options.role, contracts, engine, requests, checks },
      usage: () => meter.read(),
      residentBytes: lastReading(() => process.memoryUsage.rss()),
      disk: () => diskOf(options.dataDir),
    }),
    money,
    control: controlReports({
      ...{ clock, maintenance, doctor, warnings, configuration: configuration.entries },
      canRestartEngine: restartEngine !== null,
    }),
  }
  // As a part it has no `start`: it runs on request alone.
  return { desk: { reports, doctor }, doctor: { stop: () => doctor.stop() } }
}

/** @param ledger null if answers are free */
export function moneyOf(
  ledger: Ledger | null,
  channels: (() => Promise<readonly Channel[]>) | null,
  { requests, counts }: Traffic,
  { clock, metrics }: Foundation,
): () => Promise<MoneyReport> {
  return ledger === null
    ? withoutSales(clock, 'Answers are free (--payment open), so nothing is sold.')
    : moneyReports({ clock, contracts, ledger, counts, requests, metrics, channels })
}

/** Disk of a folder; null if it cannot be read. */
export function diskOf(folder: string): HealthReport['disk'] {
  try {
    const { bavail, blocks, bsize } = statfsSync(folder)
    return { freeBytes: bavail * bsize, totalBytes: blocks * bsize }
  } catch {
    return null
  }
}
