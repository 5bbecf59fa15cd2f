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
  /** It is looked at again while its payment is open. */
  | { readonly kind: 'unrecorded'; readonly transaction: string; readonly cause: unknown }
  /** The burnt gas of the hour, without which no suspension begins or ends here; `reserve` bounds the gas all the same. */
  | { readonly kind: 'unread'; readonly cause: unknown }
  /** A reservation stays until its window ends. */
  | { readonly kind: 'unreleased'; readonly cause: unknown }
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
  /** As known here: other gateways can have used up the gas, which `reserve` finds. */
  #suspendedUntilMs = 0

  constructor(options: ContractPayersOptions) {
    this.#options = options
    void this.#loadSuspension()
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
  async barred(payer: string): Promise<string | null> {
    const { failures, clock } = this.#options
    return (await failures.isBarred(this.#named(payer), clock.nowMs())) ? BARRED : null
  }

  /**
   * Why this wallet is rejected, or null.
   * @param code null for an account without code
   */
  async refusal(payer: string, code: Hex | null): Promise<string | null> {
    const barred = await this.barred(payer)
    if (barred !== null || code === null) return barred
    const { failures, clock } = this.#options
    const isCodeBarred = await failures.isCodeBarred(this.#named(payer), code, clock.nowMs())
    return this.objection() ?? (isCodeBarred ? CODE_BARRED : null)
  }

  /** @returns the reservation; null while burnt gas and the transactions in progress may use up the limit */
  async reserve(payer: string, code: Hex): Promise<number | null> {
    const { failures, clock, gasPerHourMax } = this.#options
    const wanted = { ...this.#named(payer), code, cost: CONTRACT_GAS_MAX }
    const reserved = await failures.reserve(wanted, gasPerHourMax, clock.nowMs())
    if (reserved === null) await this.#updateSuspension()
    return reserved
  }

  /** Never fails: a reservation that stays ends with its window. */
  release(reserved: number | null): void {
    const { failures, emit } = this.#options
    if (reserved !== null)
      failures.release(reserved).catch((cause) => emit({ kind: 'unreleased', cause }))
  }

  /** @throws if the failure could not be recorded */
  async failed({ reserved, gas, ...failure }: FailedTransfer): Promise<void> {
    const { failures, clock, emit } = this.#options
    const { payer, code, transaction } = failure
    const entry = { ...failure, ...this.#named(payer), cost: gas }
    let isNew: boolean
    try {
      isNew = await failures.failed(entry, reserved, clock.nowMs())
    } catch (cause) {
      emit({ kind: 'unrecorded', transaction, cause })
      throw cause
    }
    if (!isNew) return
    emit({ kind: 'burnt', payer, by: code === null ? 'key' : 'contract', gas })
    if (code !== null) await this.#updateSuspension()
  }

  /** At the start. */
  async #loadSuspension(): Promise<void> {
    this.#suspendedUntilMs = (await this.#exhaustedUntilMs()) ?? 0
  }

  async #updateSuspension(): Promise<void> {
    const exhaustedUntilMs = await this.#exhaustedUntilMs()
    if (exhaustedUntilMs === null) return
    const wasSuspended = this.suspendedUntilMs !== null
    this.#suspendedUntilMs = exhaustedUntilMs
    const untilMs = this.suspendedUntilMs
    if (untilMs !== null && !wasSuspended) this.#options.emit({ kind: 'suspended', untilMs })
  }

  #named(payer: string): NetworkPayer {
    return { network: this.#options.network, payer }
  }

  /** Time until which the hourly gas limit does not cover another failure; 0 if it does, null if that cannot be read. */
  async #exhaustedUntilMs(): Promise<number | null> {
    const { failures, clock, network, gasPerHourMax, emit } = this.#options
    let burnt = CONTRACT_GAS_MAX
    let failed: Awaited<ReturnType<FailedSettlements['ofContracts']>>
    try {
      failed = await failures.ofContracts(network, clock.nowMs())
    } catch (cause) {
      emit({ kind: 'unread', cause })
      return null
    }
    for (const { cost, atMs } of failed) {
      burnt += cost
      if (burnt > gasPerHourMax) return atMs + FAILURE_WINDOW_MS
    }
    return 0
  }
}
