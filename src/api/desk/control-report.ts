import type { Clock } from '../../domain/clock.ts'
import type {
  ConfigurationEntry,
  ControlReport,
  DoctorReport,
  LogEntry,
} from '../../domain/desk-reports.ts'
import type { MaintenanceState } from '../maintenance-switch.ts'

export type ControlSources = {
  readonly clock: Pick<Clock, 'nowMs'>
  /** null if this process sells nothing. */
  readonly maintenance: MaintenanceState | null
  readonly canRestartEngine: boolean
  readonly doctor: { report(): DoctorReport }
  /** The newest first. */
  readonly warnings: { newest(): readonly LogEntry[] }
  readonly configuration: readonly ConfigurationEntry[]
}

export function controlReports({
  clock,
  maintenance,
  canRestartEngine,
  doctor,
  warnings,
  configuration,
}: ControlSources): () => Promise<ControlReport> {
  return async () => ({
    nowMs: clock.nowMs(),
    maintenance: maintenance && { isOn: maintenance.isOn, sinceMs: maintenance.sinceMs },
    canRestartEngine,
    doctor: doctor.report(),
    warnings: warnings.newest(),
    configuration,
  })
}
