import type { ClockCheck } from '../payment/clock-check.ts'
import type { FailedSettlements } from '../payment/failed-settlements.ts'
import type { HealthMonitor } from '../payment/health-monitor.ts'

/** Monitors of payment methods while the service sells; a monitor begins with its `start`. */
export type Watching = {
  readonly clock: ClockCheck
  readonly watches: HealthMonitor[]
  /** Of the ledger. */
  readonly failures: FailedSettlements
}
