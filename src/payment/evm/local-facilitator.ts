import type { Address, Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { Clock } from '../../domain/clock.ts'
import type { Facilitator } from '../payment.ts'
import { Screening } from '../screening.ts'
import { chainOutcome } from './chain-outcome.ts'
import type { ExactEvmPayment } from './exact-evm.ts'
import type { PaymentNetwork } from './networks.ts'
import { nodeClient } from './node-client.ts'
import { Settlements } from './settlements.ts'
import { Simulation } from './simulation.ts'
import { TransactionSender } from './transaction-sender.ts'

export type LocalFacilitatorOptions = {
  readonly network: PaymentNetwork
  readonly rpcUrl: string
  /** Pays the gas. Must not be the payee's key. */
  readonly privateKey: Hex
  readonly clock: Clock
}

export type LocalFacilitator = Facilitator<ExactEvmPayment> & {
  /** Pays the gas. */
  readonly gasAccount: Address
  /** What is left to pay gas with, wei. Rejects when the node does not answer. */
  gasBalance(): Promise<bigint>
}

/**
 * Verifies and settles in this process, against one chain. In the good case a verification is one question to
 * the node, and so is a settlement; `confirmed` asks once more whether the block is there.
 */
export function localFacilitator(options: LocalFacilitatorOptions): LocalFacilitator {
  const { network, rpcUrl, privateKey, clock } = options
  const account = privateKeyToAccount(privateKey)
  const node = nodeClient(network, rpcUrl)
  const simulation = new Simulation(node, account.address)
  const screening = new Screening<ExactEvmPayment>({
    clock,
    ask: (payments) => simulation.screen(payments),
  })
  const sender = new TransactionSender(node, account, clock)
  const settlements = new Settlements({ node, simulation, sender, clock })
  /** What the chain would have carried out a moment ago need not be asked for again. */
  const verified = new WeakSet<ExactEvmPayment>()

  return {
    gasAccount: account.address,
    gasBalance: () => node.getBalance({ address: account.address }),
    screen: (payment) => screening.screen(payment),
    async verify(payment) {
      const verification = await simulation.verify(payment)
      if (verification.kind === 'valid') verified.add(payment)
      return verification
    },
    settle: (payment, finality = 'confirmed') =>
      settlements.settle(payment, finality, verified.delete(payment)),
    async outcome(payment) {
      const isPending = await settlements.isPending(payment)
      const outcome = await chainOutcome(node, payment)
      // From then on no block takes it, wherever it still waits.
      const isMinable =
        outcome.kind === 'unused' && outcome.asOfSeconds < payment.validBeforeSeconds
      return isPending && isMinable
        ? { kind: 'unknown', reason: 'its transaction waits for a block' }
        : outcome
    },
  }
}
