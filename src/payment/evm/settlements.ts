import type { Hex, TransactionReceipt } from 'viem'
import { TransactionNotFoundError } from 'viem'
import { BoundedMap } from '../../domain/bounded-map.ts'
import type { Clock } from '../../domain/clock.ts'
import type { Finality } from '../finality.ts'
import { nodeReason } from '../node-error.ts'
import type { Settlement } from '../payment.ts'
import type { ExactEvmPayment } from './exact-evm.ts'
import { isKeySignature } from './exact-payload.ts'
import { Gathering } from './gathering.ts'
import { isTurnedAway } from './node-answer.ts'
import type { NodeClient } from './node-client.ts'
import { Receipts, receiptOf } from './receipts.ts'
import type { Simulation } from './simulation.ts'
import type { Sent, TransactionSender } from './transaction-sender.ts'
import { pays, togetherCall, transferCall } from './transfer.ts'

export type SettlementsOptions = {
  readonly node: NodeClient
  readonly simulation: Simulation
  readonly sender: TransactionSender
  readonly clock: Clock
}

/** A payment whose transfer shall be sent, and those who wait for it. */
type Job = {
  readonly payment: ExactEvmPayment
  readonly finality: Finality
  readonly resolve: (settlement: Settlement) => void
  /** Whether no contract has a say in the payment, so that it may share a transaction. */
  readonly mayShare: Promise<boolean>
}

/** A transaction that a block has, or will have. Many payments may ask for its seal. */
type Mined = {
  readonly promised: TransactionReceipt
  sealed(): Promise<TransactionReceipt | null>
}

/** How long a settlement waits for others, when one was sent just before. */
const GATHER_MS = 100
const TOGETHER_MAX = 50
/** Transactions whose end nobody saw. The oldest are forgotten; the chain remembers. */
const PENDING_MAX = 10_000

/**
 * Carries payments out: alone and at once, or many in one transaction when they come in quick succession.
 * Never calls one rejected that a block may still take.
 */
export class Settlements {
  readonly #node: NodeClient
  readonly #simulation: Simulation
  readonly #sender: TransactionSender
  readonly #receipts: Receipts
  readonly #gathering: Gathering<Job>
  /** The last transaction of each payment that may still be mined, by the payment's hash. */
  readonly #pending = new BoundedMap<string, Hex>(PENDING_MAX)

  constructor({ node, simulation, sender, clock }: SettlementsOptions) {
    this.#node = node
    this.#simulation = simulation
    this.#sender = sender
    this.#receipts = new Receipts(node, clock)
    this.#gathering = new Gathering({
      clock,
      waitMs: GATHER_MS,
      sizeMax: TOGETHER_MAX,
      dispatch: (jobs) => void this.#dispatch(jobs),
    })
  }

  /** @param isVerified whether the chain would have carried the payment out a moment ago */
  async settle(
    payment: ExactEvmPayment,
    finality: Finality,
    isVerified: boolean,
  ): Promise<Settlement> {
    if (!isVerified) {
      const known = await this.#known(payment, finality)
      if (known !== null) return known
    }
    const mayShare = this.#gathering.isGathering ? this.#hasNoCode(payment) : Promise.resolve(true)
    return new Promise((resolve) => {
      this.#gathering.add({ payment, finality, resolve, mayShare })
    })
  }

  /** Whether a transaction of this payment waits for its block: then nothing is over yet. */
  async isPending(payment: ExactEvmPayment): Promise<boolean> {
    const hash = this.#pending.get(payment.hash)
    if (hash === undefined) return false
    try {
      return (await this.#node.getTransaction({ hash })).blockNumber === null
    } catch (cause) {
      return !(cause instanceof TransactionNotFoundError)
    }
  }

  /** What became of an earlier attempt, or why there is no use in another one; null where there is. */
  async #known(payment: ExactEvmPayment, finality: Finality): Promise<Settlement | null> {
    const transaction = this.#pending.get(payment.hash)
    if (transaction !== undefined) {
      try {
        const receipt = await receiptOf(this.#node, transaction)
        if (receipt !== null) return await this.#concluded(payment, finality, this.#mined(receipt))
        await this.#node.getTransaction({ hash: transaction })
        return finality === 'broadcast' ? { kind: finality, transaction } : waiting(transaction)
      } catch (cause) {
        if (!(cause instanceof TransactionNotFoundError))
          return { kind: 'unknown', reason: nodeReason(cause), transaction }
        this.#sender.doubtNonce()
      }
    }
    const verification = await this.#simulation.verify(payment)
    if (verification.kind === 'valid') return null
    const { kind, reason } = verification
    return { kind: kind === 'invalid' ? 'rejected' : 'unreachable', reason }
  }

  /** The payer's contract could use up the gas of all others, or take it away by what it answers. */
  async #hasNoCode({ authorization, signature }: ExactEvmPayment): Promise<boolean> {
    if (!isKeySignature(signature)) return false
    try {
      return (await this.#node.getCode({ address: authorization.from })) === undefined
    } catch {
      return false
    }
  }

  async #dispatch(jobs: readonly Job[]): Promise<void> {
    const mayShare = await Promise.all(jobs.map((job) => job.mayShare))
    const together = jobs.filter((_, index) => mayShare[index])
    const alone = jobs.filter((_, index) => !mayShare[index])
    const groups = [...(together.length > 0 ? [together] : []), ...alone.map((job) => [job])]
    for (const group of groups) void this.#carryOut(group)
  }

  async #carryOut(jobs: readonly Job[]): Promise<void> {
    const signed: Hex[] = []
    let sent: Sent
    try {
      sent = await this.#send(jobs, signed)
    } catch (cause) {
      // A second one was signed only where the first may have been mined.
      const neverBegan = signed.length === 0 || (signed.length === 1 && isTurnedAway(cause))
      if (neverBegan) for (const { payment } of jobs) this.#pending.delete(payment.hash)
      this.#giveUp(jobs, cause, neverBegan ? null : (signed.at(-1) ?? null))
      return
    }
    try {
      await this.#answer(jobs, sent)
    } catch (cause) {
      this.#giveUp(jobs, cause, sent.hash)
    }
  }

  #send(jobs: readonly Job[], signed: Hex[]): Promise<Sent> {
    const calls = jobs.map(({ payment }) => transferCall(payment))
    const [only] = calls
    return this.#sender.send(
      only !== undefined && calls.length === 1 ? only : togetherCall(calls),
      {
        untilMined: jobs.every(({ finality }) => finality !== 'broadcast'),
        onSigned: (transaction) => {
          signed.push(transaction)
          for (const { payment } of jobs) this.#pending.set(payment.hash, transaction)
        },
      },
    )
  }

  /** @param transaction may still be mined; null where nothing will be */
  #giveUp(jobs: readonly Job[], cause: unknown, transaction: Hex | null): void {
    const reason = nodeReason(cause)
    for (const { resolve } of jobs)
      resolve(
        transaction === null
          ? { kind: 'unreachable', reason }
          : { kind: 'unknown', reason, transaction },
      )
  }

  /** Answers every job of a transaction that the node has taken. */
  async #answer(jobs: readonly Job[], { hash: transaction, receipt: early }: Sent): Promise<void> {
    for (const { finality, resolve } of jobs)
      if (finality === 'broadcast') resolve({ kind: 'broadcast', transaction })
    const others = jobs.filter(({ finality }) => finality !== 'broadcast')
    if (others.length === 0) return
    const receipt = early ?? (await this.#receipts.promised(transaction))
    if (receipt === null) this.#sender.doubtNonce()
    const mined = receipt === null ? null : this.#mined(receipt)
    const answered = others.map(async ({ payment, finality, resolve }) => {
      resolve(
        mined === null ? waiting(transaction) : await this.#concluded(payment, finality, mined),
      )
    })
    await Promise.all(answered)
  }

  /** What the receipt of a payment's transaction says about it, as sure as `finality` asks for. */
  async #concluded(
    payment: ExactEvmPayment,
    finality: Finality,
    { promised, sealed }: Mined,
  ): Promise<Settlement> {
    const transaction = promised.transactionHash
    if (finality !== 'confirmed' && pays(promised.logs, payment)) {
      return { kind: 'settled', transaction }
    }
    try {
      const receipt = await sealed()
      if (receipt === null) return waiting(transaction)
      this.#pending.delete(payment.hash)
      return pays(receipt.logs, payment)
        ? { kind: 'settled', transaction }
        : await this.#failed(payment)
    } catch (cause) {
      return { kind: 'unknown', reason: nodeReason(cause), transaction }
    }
  }

  #mined(promised: TransactionReceipt): Mined {
    let sealed: Promise<TransactionReceipt | null> | null = null
    return {
      promised,
      sealed: () => {
        sealed ??= this.#receipts.sealed(promised)
        return sealed
      },
    }
  }

  /** Its transaction stands in a block and did not pay: that attempt is over. */
  async #failed(payment: ExactEvmPayment): Promise<Settlement> {
    const verification = await this.#simulation.verify(payment)
    if (verification.kind === 'invalid') return { ...verification, kind: 'rejected' }
    // The buyer did nothing wrong that we could name: the same payment may be tried again.
    const reason = verification.kind === 'valid' ? 'the transfer failed' : verification.reason
    return { kind: 'unreachable', reason }
  }
}

function waiting(transaction: Hex): Settlement {
  return { kind: 'unknown', reason: 'its transaction waits for a block', transaction }
}
