import type { Address, Hex, TransactionReceipt } from 'viem'
import { isAddressEqual, TransactionNotFoundError } from 'viem'
import { BoundedMap } from '../../domain/bounded-map.ts'
import type { Clock } from '../../domain/clock.ts'
import { BARRING_STRIKES } from '../failed-settlements.ts'
import type { Finality } from '../finality.ts'
import { nodeReason } from '../node-error.ts'
import type { Settlement, Verification } from '../payment.ts'
import { saysNonceUsed } from '../rejection.ts'
import { Batcher } from './batcher.ts'
import { chainOutcome } from './chain-outcome.ts'
import type { ContractPayers } from './contract-payers.ts'
import type { ExactEvmPayment } from './exact-evm.ts'
import { isTurnedAway } from './node-answer.ts'
import type { NodeClient } from './node-client.ts'
import { payerCode } from './payer-code.ts'
import { Receipts, receiptOf } from './receipts.ts'
import type { BroadcastTransaction, TransactionSender } from './transaction-sender.ts'
import { pays, togetherCall, transferCall, transfersIn } from './transfer.ts'
import type { TransferSimulation } from './transfer-simulation.ts'

export type SettlementsOptions = {
  readonly node: NodeClient
  readonly simulation: TransferSimulation
  readonly sender: TransactionSender
  readonly payers: ContractPayers
  readonly clock: Clock
  /** Of the sender. */
  readonly account: Address
  /** Receives the receipt of each transaction in a sealed block. */
  readonly onMined: (receipt: TransactionReceipt) => void
}

/** A payment to be sent, and its waiting caller. */
type Job = {
  readonly payment: ExactEvmPayment
  readonly finality: Finality
  readonly resolve: (settlement: Settlement) => void
  /** Hash of the payer's code; null for an account without code, which can share a transaction. */
  readonly code: Hex | null
  /** Gas reservation of a contract wallet; otherwise null. */
  readonly reserved: number | null
}

/** A transaction that can still be mined, for one payment or a batch. */
type Attempt = Pick<Job, 'code'> & {
  /** null once it was released. */
  reserved: number | null
  readonly transaction: Hex
  /** Payments in the transaction. */
  readonly members: number
  /** Gas limit of the transaction. */
  readonly gasMax: bigint
  /** Whether its gas was already attributed to one payment of the batch. */
  isCounted: boolean
}

/** A transaction with a receipt. Several payments can wait for its sealed block. */
type Mined = {
  readonly promised: TransactionReceipt
  sealed(): Promise<TransactionReceipt | null>
}

/** How a mined transaction did not pay. */
type Failure = {
  /** Whether the payer has code. */
  readonly hasCode: boolean
  /** Whether it used nearly all of its gas. */
  readonly isBurnt: boolean
  readonly blockNumber: bigint
}

/** Wait for further payments after a recent transaction. */
const GATHER_MS = 100
const TOGETHER_MAX = 50
/** After an account with new code burnt the gas of a batch, payments are sent separately for this long. */
const ALONE_MS = 3_600_000
/** Public reasons; the second one is of the x402 SDK. */
const CONTRACT_FAILED = 'invalid_exact_evm_contract_wallet_failed'
const TRANSFER_FAILED = 'invalid_exact_evm_transaction_failed'
/** Transactions with unknown results. The oldest are dropped; the chain has them. */
const PENDING_MAX = 10_000

/**
 * Sends the transfers of payments: one at once, or several in one transaction if they follow within 100 ms. A payment
 * that a block can still include is never reported as rejected.
 */
export class Settlements {
  readonly #node: NodeClient
  readonly #simulation: TransferSimulation
  readonly #sender: TransactionSender
  readonly #payers: ContractPayers
  readonly #clock: Clock
  readonly #account: Address
  readonly #receipts: Receipts
  readonly #onMined: SettlementsOptions['onMined']
  readonly #batcher: Batcher<Job>
  /** Last transaction of each payment that can still be mined, by payment hash. */
  readonly #pending = new BoundedMap<string, Attempt>(PENDING_MAX)
  /** Failed transactions of payments whose settlement had ended, by hash of both. */
  readonly #failedLate = new BoundedMap<string, true>(PENDING_MAX)
  #aloneUntilMs = 0

  constructor({ node, simulation, sender, payers, clock, account, onMined }: SettlementsOptions) {
    this.#node = node
    this.#simulation = simulation
    this.#sender = sender
    this.#payers = payers
    this.#clock = clock
    this.#account = account
    this.#receipts = new Receipts(node, clock)
    this.#onMined = onMined
    this.#batcher = new Batcher({
      clock,
      waitMs: GATHER_MS,
      sizeMax: TOGETHER_MAX,
      dispatch: (jobs) => this.#dispatch(jobs),
    })
  }

  /** @param verifiedCode hash of the payer's code after a recent verification; undefined without one */
  async settle(
    payment: ExactEvmPayment,
    finality: Finality,
    verifiedCode: Hex | null | undefined,
  ): Promise<Settlement> {
    if (verifiedCode === undefined) {
      const known = await this.#known(payment, finality)
      if (known !== null) return known
    }
    let code: Hex | null
    let reserved: number | null = null
    try {
      code = verifiedCode === undefined ? await this.#codeOf(payment) : verifiedCode
      // Again, because other payments of this payer can have failed since the verification.
      const reason = await this.#payers.refusal(payment.payer, code)
      if (reason !== null) return { kind: 'rejected', reason }
      if (code !== null) reserved = await this.#payers.reserve(payment.payer, code)
    } catch (cause) {
      // Nothing was sent.
      return { kind: 'unreachable', reason: nodeReason(cause) }
    }
    if (code === null)
      return new Promise((resolve) => {
        this.#batcher.add({ payment, finality, resolve, code: null, reserved: null })
      })
    if (reserved === null)
      return {
        kind: 'unreachable',
        reason: 'the gas limit of contract wallets is used up by settlements in progress',
      }
    return this.#settleContract(payment, code, reserved)
  }

  #codeOf({ authorization }: ExactEvmPayment): Promise<Hex | null> {
    return payerCode(this.#node, authorization.from)
  }

  /** Separately and always `confirmed`: the contract can decide differently until the transaction is mined. */
  async #settleContract(
    payment: ExactEvmPayment,
    code: Hex,
    reserved: number,
  ): Promise<Settlement> {
    const settlement = await new Promise<Settlement>((resolve) => {
      void this.#carryOut([{ payment, finality: 'confirmed', resolve, code, reserved }])
    })
    return settlement.kind === 'settled' ? { ...settlement, isFinal: true } : settlement
  }

  /**
   * Whether a transaction of this payment waits for its block. One that was mined after its settlement had ended, and did
   * not pay, counts against its payer.
   * @param sent the last transaction in the ledger; another process, or one before a restart, can have sent it
   */
  async isPending(payment: ExactEvmPayment, sent: string | null): Promise<boolean> {
    const own = this.#pending.get(payment.hash)?.transaction ?? null
    let isPending = false
    for (const hash of new Set([own, sent as Hex | null]))
      if (hash !== null && (await this.#isWaiting(payment, hash))) isPending = true
    return isPending
  }

  async #isWaiting(payment: ExactEvmPayment, hash: Hex): Promise<boolean> {
    const judged = `${payment.hash}:${hash}`
    if (this.#failedLate.get(judged) === true) return false
    try {
      const receipt = await receiptOf(this.#node, hash)
      const transaction = await this.#node.getTransaction({ hash })
      if (receipt === null) return true
      if (pays(receipt.logs, payment) || !isAddressEqual(receipt.from, this.#account)) return false
      const sealed = await this.#sealed(receipt, this.#clock.nowMs())
      if (sealed === null) return true
      if (pays(sealed.logs, payment)) return false
      const own = this.#pending.get(payment.hash)
      const adopted: Attempt = {
        ...{ transaction: hash, code: null, reserved: null, isCounted: false },
        ...{ members: transfersIn(transaction), gasMax: transaction.gas },
      }
      await this.#failed(payment, own?.transaction === hash ? own : adopted, sealed)
      // A failure that was not recorded is looked at again.
      this.#forget(payment, hash)
      this.#failedLate.set(judged, true)
      return false
    } catch (cause) {
      return !(cause instanceof TransactionNotFoundError)
    }
  }

  /** The chain shows that this transaction paid; its receipt came after the settlement had ended. */
  paid(payment: ExactEvmPayment, transaction: string): void {
    const attempt = this.#pending.get(payment.hash)
    if (attempt?.transaction === transaction) this.#payers.release(taken(attempt))
    this.#forget(payment, transaction)
  }

  /** Unless another attempt has been sent since. */
  #forget({ hash }: ExactEvmPayment, transaction: string): void {
    if (this.#pending.get(hash)?.transaction === transaction) this.#pending.delete(hash)
  }

  /** Result of an earlier attempt, or why a new one cannot succeed; null to start one. */
  async #known(payment: ExactEvmPayment, finality: Finality): Promise<Settlement | null> {
    const attempt = this.#pending.get(payment.hash)
    if (attempt !== undefined) {
      const { transaction } = attempt
      try {
        const receipt = await receiptOf(this.#node, transaction)
        if (receipt !== null) {
          const mined = this.#mined(receipt, this.#receipts.deadlineMs())
          return await this.#concluded(payment, finality, attempt, mined)
        }
        await this.#node.getTransaction({ hash: transaction })
        return finality === 'broadcast' ? { kind: finality, transaction } : waiting(transaction)
      } catch (cause) {
        if (!(cause instanceof TransactionNotFoundError))
          return { kind: 'unknown', reason: nodeReason(cause), transaction }
        this.#sender.discardNonce()
      }
    }
    const verification = await this.#simulation.verify(payment)
    if (verification.kind === 'valid') return null
    const { kind, reason } = verification
    return { kind: kind === 'invalid' ? 'rejected' : 'unreachable', reason }
  }

  /** For accounts without code: a contract could use up the gas of a batch. */
  #dispatch(jobs: readonly Job[]): void {
    const isAlone = this.#clock.nowMs() < this.#aloneUntilMs
    for (const group of isAlone ? jobs.map((job) => [job]) : [jobs]) void this.#carryOut(group)
  }

  async #carryOut(jobs: readonly Job[]): Promise<void> {
    const signed: Hex[] = []
    const deadlineMs = this.#receipts.deadlineMs()
    let sent: BroadcastTransaction
    try {
      sent = await this.#send(jobs, signed)
    } catch (cause) {
      // A second transaction is signed only if the first can have been mined.
      const neverBegan = signed.length === 0 || (signed.length === 1 && isTurnedAway(cause))
      if (neverBegan)
        for (const { payment, reserved } of jobs) {
          this.#pending.delete(payment.hash)
          this.#payers.release(reserved)
        }
      this.#giveUp(jobs, cause, neverBegan ? null : (signed.at(-1) ?? null))
      return
    }
    try {
      await this.#answer(jobs, sent, deadlineMs)
    } catch (cause) {
      this.#giveUp(jobs, cause, sent.hash)
    }
  }

  #send(jobs: readonly Job[], signed: Hex[]): Promise<BroadcastTransaction> {
    const calls = jobs.map(({ payment }) => transferCall(payment))
    const [first] = jobs
    const [only] = calls
    const call = only !== undefined && calls.length === 1 ? only : togetherCall(calls)
    const { code = null, reserved = null } = first ?? {}
    return this.#sender.send(call, {
      untilMined: jobs.every(({ finality }) => finality !== 'broadcast'),
      onSigned: (transaction) => {
        signed.push(transaction)
        const members = jobs.length
        const attempt = { transaction, code, reserved, members, gasMax: call.gas, isCounted: false }
        for (const { payment } of jobs) this.#pending.set(payment.hash, attempt)
      },
    })
  }

  /** @param transaction can still be mined; null if nothing can */
  #giveUp(jobs: readonly Job[], cause: unknown, transaction: Hex | null): void {
    const reason = nodeReason(cause)
    for (const { resolve } of jobs)
      resolve(
        transaction === null
          ? { kind: 'unreachable', reason }
          : { kind: 'unknown', reason, transaction },
      )
  }

  /** Resolves every job of a transaction that the node accepted. */
  async #answer(
    jobs: readonly Job[],
    { hash: transaction, receipt: early }: BroadcastTransaction,
    deadlineMs: number,
  ): Promise<void> {
    for (const { finality, resolve } of jobs)
      if (finality === 'broadcast') resolve({ kind: 'broadcast', transaction })
    const others = jobs.filter(({ finality }) => finality !== 'broadcast')
    if (others.length === 0) return
    const receipt = early ?? (await this.#receipts.promised(transaction, deadlineMs))
    if (receipt === null) this.#sender.discardNonce()
    const mined = receipt === null ? null : this.#mined(receipt, deadlineMs)
    const answered = others.map(async (job) => {
      const { payment, finality, resolve } = job
      const attempt = this.#pending.get(payment.hash)
      if (mined === null || attempt === undefined) return resolve(waiting(transaction))
      const settlement = await this.#concluded(payment, finality, attempt, mined)
      if (settlement === null) void this.#carryOut([job])
      else resolve(settlement)
    })
    await Promise.all(answered)
  }

  /**
   * Result of a payment by its receipt, with `finality`. null if another payment of the batch caused its failure and it
   * can be sent separately.
   */
  async #concluded(
    payment: ExactEvmPayment,
    finality: Finality,
    attempt: Attempt,
    { promised, sealed }: Mined,
  ): Promise<Settlement | null> {
    const transaction = promised.transactionHash
    if (finality !== 'confirmed' && pays(promised.logs, payment)) {
      return { kind: 'settled', transaction }
    }
    try {
      const receipt = await sealed()
      if (receipt === null) return waiting(transaction)
      const isPaid = pays(receipt.logs, payment)
      if (isPaid) this.#payers.release(taken(attempt))
      const failed = isPaid ? null : await this.#failed(payment, attempt, receipt)
      this.#forget(payment, transaction)
      return isPaid ? { kind: 'settled', transaction } : failed
    } catch (cause) {
      return { kind: 'unknown', reason: nodeReason(cause), transaction }
    }
  }

  #mined(promised: TransactionReceipt, deadlineMs: number): Mined {
    let sealed: Promise<TransactionReceipt | null> | null = null
    return {
      promised,
      sealed: () => {
        sealed ??= this.#sealed(promised, deadlineMs)
        return sealed
      },
    }
  }

  async #sealed(
    promised: TransactionReceipt,
    deadlineMs: number,
  ): Promise<TransactionReceipt | null> {
    const receipt = await this.#receipts.sealed(promised, deadlineMs)
    if (receipt !== null) this.#onMined(receipt)
    return receipt
  }

  /**
   * The mined transaction did not pay. The payer is at fault, because the simulation succeeded just before, unless the
   * authorization expired before the block. null if another payment of the batch can be at fault.
   */
  async #failed(
    payment: ExactEvmPayment,
    attempt: Attempt,
    { gasUsed, blockNumber }: TransactionReceipt,
  ): Promise<Settlement | null> {
    const { payer, authorization } = payment
    const { transaction, members, gasMax } = attempt
    const [seconds, verification, code] = await Promise.all([
      this.#receipts.blockSeconds(blockNumber),
      this.#simulation.verify(payment),
      // The account can have got code since the verification.
      attempt.code ?? this.#codeOf(payment),
    ])
    const isShared = members > 1
    if (isShared && code === null && verification.kind === 'valid') return null
    if (isShared && code !== null) this.#aloneUntilMs = this.#clock.nowMs() + ALONE_MS
    const isBurnt = gasUsed * 10n >= gasMax * 9n
    const failure = { hasCode: code !== null, isBurnt, blockNumber }
    const isExpired = seconds >= authorization.validBefore
    // Only code can burn the gas.
    const isExcused = isExpired && (!isBurnt || code === null)
    const strikes = isExcused ? 0 : await this.#strikes(payment, verification, failure)
    const isToBlame = !isShared || (code !== null && !attempt.isCounted)
    const gas = isToBlame ? gasUsed : gasUsed / BigInt(members)
    const reserved = taken(attempt)
    if (isToBlame) attempt.isCounted = true
    try {
      await this.#payers.failed({ payer, code, transaction, reserved, strikes, gas })
    } catch (cause) {
      // It is recorded later.
      if (reserved !== null) attempt.reserved = reserved
      if (isToBlame) attempt.isCounted = false
      throw cause
    }
    // A third party can have submitted it, which paid us: the answer stays, and the buyer must not sign another payment.
    if (verification.kind === 'unreachable')
      return { kind: 'unknown', reason: verification.reason, transaction }
    const isUsed = verification.kind === 'invalid' && saysNonceUsed(verification.reason)
    if (strikes === BARRING_STRIKES && !isUsed) return { kind: 'rejected', reason: CONTRACT_FAILED }
    const reason = verification.kind === 'invalid' ? verification.reason : TRANSFER_FAILED
    return { kind: 'rejected', reason }
  }

  /**
   * Weight of a failure against its payer, by a new simulation. A contract that used all gas, or would pay now, waited
   * for the transaction.
   * @throws while the node does not show it
   */
  async #strikes(
    payment: ExactEvmPayment,
    now: Verification,
    { hasCode, isBurnt, blockNumber }: Failure,
  ): Promise<number> {
    if (hasCode && isBurnt) return BARRING_STRIKES
    if (now.kind === 'unreachable') throw new Error(now.reason)
    // Anybody can submit the payment, which pays us; a node that lags behind simulates without that, and the token names
    // an expiry or a low balance before a used nonce. To cancel it or to pay another payee takes the payer's signature; a
    // nonce that no block has used is not what made the transaction fail.
    const outcome = await chainOutcome(this.#node, payment, blockNumber)
    if (outcome.kind === 'unknown') throw new Error(outcome.reason)
    if (outcome.kind === 'settled') return 0
    return hasCode && now.kind === 'valid' ? BARRING_STRIKES : 1
  }
}

/** The reservation of an attempt, once: the ledger can give the number of a released one to another. */
function taken(attempt: Attempt): number | null {
  const { reserved } = attempt
  attempt.reserved = null
  return reserved
}

function waiting(transaction: Hex): Settlement {
  return { kind: 'unknown', reason: 'the transaction is in no block yet', transaction }
}
