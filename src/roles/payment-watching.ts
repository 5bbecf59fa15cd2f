import type { ProofLog } from '../domain/answer-proof.ts'
import type { ClockCheck } from '../payment/clock-check.ts'
import type { AccountTurns } from '../payment/evm/account-turns.ts'
import type { ProofAnchor } from '../payment/evm/proof-anchor.ts'
import type { FailedSettlements } from '../payment/failed-settlements.ts'
import type { HealthMonitor } from '../payment/health-monitor.ts'
import type { RecordCost } from '../payment/ledger/transaction-costs.ts'

/** Turns of a gas account among all processes with the same ledger. */
export type TurnsOf = (account: string) => AccountTurns

/** The name of a gas account, the same in every process. */
export function gasAccountOf(network: string, address: string): string {
  return `${network}/${address}`
}

/** Monitors of payment methods while the service sells; a monitor begins with its `start`. */
export type Watching = {
  readonly clock: ClockCheck
  readonly watches: HealthMonitor[]
  /** Of the ledger. */
  readonly failures: FailedSettlements
  readonly turnsOf: TurnsOf
  readonly recordCost: RecordCost
  /** The log, and what anchors it on a chain from its `start` on. */
  readonly anchoring?: { readonly proofs: ProofLog; readonly anchors: ProofAnchor[] }
}
