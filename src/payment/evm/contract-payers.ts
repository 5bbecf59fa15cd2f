import type { Hex } from 'viem'
import type { Clock } from '../../domain/clock.ts'
import type { FailedSettlement, FailedSettlements, NetworkPayer } from '../failed-settlements.ts'
import { FAILURE_WINDOW_MS } from '../failed-settlements.ts'
import { CONTRACT_GAS_MAX } from './gas-limits.ts'

export type ContractPayersOptions = {
  readonly network: string
  readonly failures: FailedSettlements
  /** Whether wallets with code are accepted. */
  readonly isTaken: boolean
  /** Gas that their failed transactions may burn per hour. */
  readonly gasPerHourMax: bigint
  readonly clock: Clock
  readonly emit: (event: FailedGas) => void
}

/** A failed transaction at our cost, for metrics and log. */
export type FailedGas =
  | {
      readonly kind: 'burnt'
      readonly payer: string
      readonly by: 'contract' | 'key'
      readonly gas: bigint
    }
  /** Contract wallets are rejected until `untilMs`. */
  | { readonly kind: 'suspended'; readonly untilMs: number }

/** A failed settlement. */
export type FailedTransfer = Omit<FailedSettlement, 'network' | 'cost'> & {
  readonly gas: bigint
  readonly reserved: number | null
}

/** Public reasons without an x402 code. */
const BARRED = 'invalid_exact_evm_payer_barred'
const CODE_BARRED = 'invalid_exact_evm_contract_wallet_barred'
const NOT_TAKEN = 'invalid_exact_evm_contract_wallets_not_accepted'
const SUSPENDED = 'invalid_exact_evm_contract_wallets_suspended'

/**
 * Bounds the cost of payers with code. A simulation proves nothing about them, because a contract can detect it. Their
 * possible cost is reserved before sending and limited for all of them together.
 */
export class ContractPayers {
  readonly #options: ContractPayersOptions
  #suspendedUntilMs: number

  constructor(options: ContractPayersOptions) {
    this.#options = options
    this.#suspendedUntilMs = this.#exhaustedUntilMs()
  }

  /** null while contract wallets are accepted, or are turned off by configuration. */
  get suspendedUntilMs(): number | null {
    const { clock, isTaken } = this.#options
    return isTaken && clock.nowMs() < this.#suspendedUntilMs ? this.#suspendedUntilMs : null
  }

  /** Why no contract wallet is accepted now, or null. */
  objection(): string | null {
    if (!this.#options.isTaken) return NOT_TAKEN
    return this.suspendedUntilMs === null ? null : SUSPENDED
  }

  /** Why this wallet is rejected, as far as known without the chain. */
  barred(payer: string): string | null {
    const { failures, clock } = this.#options
    return failures.isBarred(this.#named(payer), clock.nowMs()) ? BARRED : null
  }

  /**
   * Why this wallet is rejected, or null.
   * @param code null for an account without code
   */
  refusal(payer: string, code: Hex | null): string | null {
    const barred = this.barred(payer)
    if (barred !== null || code === null) return barred
    const { failures, clock } = this.#options
    const isCodeBarred = failures.isCodeBarred(this.#named(payer), code, clock.nowMs())
    return this.objection() ?? (isCodeBarred ? CODE_BARRED : null)
  }

  /** @returns the reservation; null while the transactions in progress may use up the limit */
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

  /** Time until which the hourly gas limit does not cover another failure; 0 if it does. */
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
