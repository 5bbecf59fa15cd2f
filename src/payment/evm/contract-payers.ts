import type { Hex } from 'viem'
import type { Clock } from '../../domain/clock.ts'
import type { FailedSettlement, FailedSettlements, NetworkPayer } from '../failed-settlements.ts'
import { FAILURE_WINDOW_MS } from '../failed-settlements.ts'
import { CONTRACT_GAS_MAX } from './gas-limits.ts'

export type ContractPayersOptions = {
  readonly network: string
  readonly failures: FailedSettlements
  /** Whether wallets with code may pay at all. */
  readonly isTaken: boolean
  /** What their failed transactions may burn within an hour. */
  readonly gasPerHourMax: bigint
  readonly clock: Clock
  readonly emit: (event: FailedGas) => void
}

/** What failed at our cost, for metrics and for a line in the log. */
export type FailedGas =
  | {
      readonly kind: 'burnt'
      readonly payer: string
      readonly by: 'contract' | 'key'
      readonly gas: bigint
    }
  /** Contract wallets are refused from now on. */
  | { readonly kind: 'suspended'; readonly untilMs: number }

/** A failure as a settlement sees it. */
export type FailedTransfer = Omit<FailedSettlement, 'network' | 'cost'> & {
  readonly gas: bigint
  readonly reserved: number | null
}

/** The public reasons: x402 has no codes for them. */
const BARRED = 'invalid_exact_evm_payer_barred'
const CODE_BARRED = 'invalid_exact_evm_contract_wallet_barred'
const NOT_TAKEN = 'invalid_exact_evm_contract_wallets_not_accepted'
const SUSPENDED = 'invalid_exact_evm_contract_wallets_suspended'

/**
 * Bounds what payers with code can cost. A simulation proves nothing about them: a contract sees that it is
 * simulated. So what they may burn is reserved before anything is sent, bounded over all of them, and paid for
 * by no other payer.
 */
export class ContractPayers {
  readonly #options: ContractPayersOptions
  #suspendedUntilMs: number

  constructor(options: ContractPayersOptions) {
    this.#options = options
    this.#suspendedUntilMs = this.#exhaustedUntilMs()
  }

  /** null while contract wallets may pay, or are turned off for good. */
  get suspendedUntilMs(): number | null {
    const { clock, isTaken } = this.#options
    return isTaken && clock.nowMs() < this.#suspendedUntilMs ? this.#suspendedUntilMs : null
  }

  /** Why no contract wallet may pay now, or null. */
  objection(): string | null {
    if (!this.#options.isTaken) return NOT_TAKEN
    return this.suspendedUntilMs === null ? null : SUSPENDED
  }

  /** Why this wallet may not pay, as far as that is known without the chain. */
  barred(payer: string): string | null {
    const { failures, clock } = this.#options
    return failures.isBarred(this.#named(payer), clock.nowMs()) ? BARRED : null
  }

  /** Why this wallet may not pay, or null. @param code null for an account with a key alone */
  refusal(payer: string, code: Hex | null): string | null {
    const barred = this.barred(payer)
    if (barred !== null || code === null) return barred
    const { failures, clock } = this.#options
    const isCodeBarred = failures.isCodeBarred(this.#named(payer), code, clock.nowMs())
    return this.objection() ?? (isCodeBarred ? CODE_BARRED : null)
  }

  /** @returns the reservation; null while those under way may use up the rest */
  reserve(payer: string, code: Hex): number | null {
    const { failures, clock, network, gasPerHourMax } = this.#options
    const nowMs = clock.nowMs()
    const burnt = failures.ofContracts(network, nowMs).reduce((sum, { cost }) => sum + cost, 0n)
    if (burnt + failures.inFlight(network, nowMs) + CONTRACT_GAS_MAX > gasPerHourMax) return null
    return failures.reserve({ ...this.#named(payer), code, cost: CONTRACT_GAS_MAX }, nowMs)
  }

  release(reserved: number | null): void {
    if (reserved !== null) this.#options.failures.release(reserved)
  }

  failed({ reserved, gas, ...failure }: FailedTransfer): void {
    const { failures, clock, emit } = this.#options
    const { payer, code } = failure
    const entry = { ...failure, ...this.#named(payer), cost: gas }
    if (!failures.failed(entry, reserved, clock.nowMs())) return
    emit({ kind: 'burnt', payer, by: code === null ? 'key' : 'contract', gas })
    if (code === null) return
    const wasSuspended = this.suspendedUntilMs !== null
    this.#suspendedUntilMs = this.#exhaustedUntilMs()
    const untilMs = this.suspendedUntilMs
    if (untilMs !== null && !wasSuspended) emit({ kind: 'suspended', untilMs })
  }

  #named(payer: string): NetworkPayer {
    return { network: this.#options.network, payer }
  }

  /** Until when the gas of the hour is too little for one more failure. 0: it is not. */
  #exhaustedUntilMs(): number {
    const { failures, clock, network, gasPerHourMax } = this.#options
    let burnt = CONTRACT_GAS_MAX
    for (const { cost, atMs } of failures.ofContracts(network, clock.nowMs())) {
      burnt += cost
      if (burnt > gasPerHourMax) return atMs + FAILURE_WINDOW_MS
    }
    return 0
  }
}
