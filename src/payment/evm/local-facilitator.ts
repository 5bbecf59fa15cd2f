import type { Address, Hex, TransactionReceipt } from 'viem'
import { isAddressEqual } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { Clock } from '../../domain/clock.ts'
import type { FailedSettlements } from '../failed-settlements.ts'
import { AT_ONCE } from '../failed-settlements.ts'
import type { RecordCost } from '../ledger/transaction-costs.ts'
import { nodeReason } from '../node-error.ts'
import { PayerConcurrency } from '../payer-concurrency.ts'
import type { Facilitator } from '../payment.ts'
import { Screening } from '../screening.ts'
import { StoredFailedSettlements } from '../stored-failed-settlements.ts'
import type { AccountTurns } from './account-turns.ts'
import { OwnTurns } from './account-turns.ts'
import { chainOutcome } from './chain-outcome.ts'
import type { FailedGas } from './contract-payers.ts'
import { ContractPayers } from './contract-payers.ts'
import type { ExactEvmPayment } from './exact-evm.ts'
import { CONTRACT_GAS_PER_HOUR } from './gas-limits.ts'
import type { PaymentNetwork } from './networks.ts'
import { nodeClient } from './node-client.ts'
import { payerCode } from './payer-code.ts'
import type { ProofAnchorOptions } from './proof-anchor.ts'
import { ProofAnchor } from './proof-anchor.ts'
import { receiptOf } from './receipts.ts'
import { Settlements } from './settlements.ts'
import { settlementCost } from './transaction-cost.ts'
import { TransactionSender } from './transaction-sender.ts'
import { TransferSimulation } from './transfer-simulation.ts'

export type LocalFacilitatorOptions = {
  readonly network: PaymentNetwork
  readonly rpcUrl: string
  /** Pays the gas. Not the key of the payee. */
  readonly privateKey: Hex
  readonly clock: Clock
  /** Turns of the account; this process alone sends from it by default. */
  readonly turns?: AccountTurns
  /** Failed settlements; in memory by default. */
  readonly failures?: FailedSettlements
  readonly contractWallets?: 'on' | 'off'
  /** Limit of gas that failed transactions of contract wallets may burn per hour. */
  readonly contractGasPerHour?: bigint
  readonly onFailedGas?: (event: FailedGas) => void
  readonly recordCost?: RecordCost
}

export type LocalFacilitator = Facilitator<ExactEvmPayment> & {
  /** Pays the gas. */
  readonly gasAccount: Address
  /** The one sender of that account in this process. */
  readonly sender: TransactionSender
  readonly payers: ContractPayers
  /** Anchors a proof log on this chain, from the gas account. */
  proofAnchor(options: Pick<ProofAnchorOptions, 'proofs' | 'onAnchored' | 'onFailure'>): ProofAnchor
  /** Balance of the gas account, wei. Rejects when the node does not answer. */
  gasBalance(): Promise<bigint>
}

/**
 * Verifies and settles in this process on one chain. A valid payment needs two requests for its verification, one for
 * its settlement, and two more for `confirmed`.
 */
export function localFacilitator(options: LocalFacilitatorOptions): LocalFacilitator {
  const { network, rpcUrl, privateKey, clock } = options
  const account = privateKeyToAccount(privateKey)
  const node = nodeClient(network, rpcUrl)
  const simulation = new TransferSimulation(node, account.address)
  const screening = new Screening<ExactEvmPayment>({
    clock,
    ask: (payments) => simulation.screen(payments),
  })
  const sender = new TransactionSender(node, account, clock, options.turns ?? new OwnTurns())
  const { failures = StoredFailedSettlements.inMemory() } = options
  const concurrency = new PayerConcurrency()
  const payers = new ContractPayers({
    network: network.network,
    failures,
    isTaken: options.contractWallets !== 'off',
    gasPerHourMax: options.contractGasPerHour ?? CONTRACT_GAS_PER_HOUR,
    clock,
    emit: options.onFailedGas ?? (() => undefined),
  })
  const onMined = (receipt: TransactionReceipt) => {
    options.recordCost?.(settlementCost(network, receipt))
  }
  const settlements = new Settlements({
    ...{ node, simulation, sender, payers, clock, onMined, account: account.address },
  })
  /** A transfer that was found on chain can be of another sender. Without an answer its fee stays unknown. */
  const recordFound = async (transaction: string) => {
    const receipt = await receiptOf(node, transaction as Hex).catch(() => null)
    if (receipt !== null && isAddressEqual(receipt.from, account.address)) onMined(receipt)
  }
  /** Code hash of each payer with a recent verification, which the settlement need not repeat. */
  const verified = new WeakMap<ExactEvmPayment, Hex | null>()

  return {
    gasAccount: account.address,
    sender,
    payers,
    proofAnchor: (anchored) =>
      new ProofAnchor({
        ...{ ...anchored, network: network.network, node, sender, account: account.address, clock },
        onMined,
      }),
    gasBalance: () => node.getBalance({ address: account.address }),
    screen: (payment) => screening.screen(payment),
    async verify(payment) {
      const verification = await simulation.verify(payment)
      if (verification.kind !== 'valid') return verification
      try {
        // After the simulation, so that an invalid payment causes one request only.
        const code = await payerCode(node, payment.authorization.from)
        const reason = await payers.refusal(payment.payer, code)
        if (reason !== null) return { kind: 'invalid', reason }
        verified.set(payment, code)
        return verification
      } catch (cause) {
        return { kind: 'unreachable', reason: nodeReason(cause) }
      }
    },
    settle(payment, finality = 'confirmed') {
      const code = verified.get(payment)
      verified.delete(payment)
      const named = { network: network.network, payer: payment.payer }
      return concurrency.run(
        payment.payer,
        { atLeast: AT_ONCE, current: () => failures.atOnceMax(named) },
        (hasWaited) => settlements.settle(payment, finality, hasWaited ? undefined : code),
      )
    },
    async outcome(payment, sent = null) {
      const isPending = await settlements.isPending(payment, sent)
      const outcome = await chainOutcome(node, payment)
      if (outcome.kind === 'settled') {
        settlements.paid(payment, outcome.transaction)
        if (options.recordCost) await recordFound(outcome.transaction)
      }
      // After its expiry no block can include it. One whose nonce is cancelled fails when a block has it.
      const isMinable =
        outcome.kind === 'forfeited' ||
        (outcome.kind === 'unused' && outcome.asOfSeconds < payment.validBeforeSeconds)
      return isPending && isMinable
        ? { kind: 'unknown', reason: 'the transaction is in no block yet' }
        : outcome
    },
  }
}
