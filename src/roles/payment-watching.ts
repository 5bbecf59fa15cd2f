import type { ClockCheck } from '../payment/clock-check.ts'
import type { FailedSettlements } from '../payment/failed-settlements.ts'
import type { Watch } from '../payment/watch.ts'

/** For whoever goes on to sell: who settles by itself is watched from `start` of its watch on. */
export type Watching = {
  readonly clock: ClockCheck
  readonly watches: Watch[]
  /** Of the ledger. */
  readonly failures: FailedSettlements
}
