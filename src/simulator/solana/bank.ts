import type { Address, EncodedAccount, Transaction } from '@solana/kit'
import { address, getBase58Decoder, getTransactionDecoder, lamports } from '@solana/kit'
import { FailedTransactionMetadata, LiteSVM } from 'litesvm'
import { sha256, stringToBytes } from 'viem'
import { BoundedMap } from '../../domain/bounded-map.ts'
import type { Clock } from '../../domain/clock.ts'
import type { CompiledMessage } from './compiled-message.ts'
import { compiledMessage } from './compiled-message.ts'
import type { TransactionError } from './transaction-error.ts'
import { transactionError } from './transaction-error.ts'

const SLOT_MS = 400
/** Far from zero and from each other, so that a test notices a slot used as a height. */
const FIRST_SLOT = 320_000_000
const SKIPPED_SLOTS = 22_000_000
/** Blocks between the newest and the finalized one. */
export const FINALIZED_BEHIND = 32
/** Maximum age of a blockhash, in blocks. */
const BLOCKHASH_SLOTS_MAX = 150
/** Blockhashes and histories of a demo or a test; the oldest go first. */
const REMEMBERED_MAX = 100_000
const SYSTEM_PROGRAM = address('11111111111111111111111111111111')

export type Commitment = 'processed' | 'confirmed' | 'finalized'

/** A transaction that is in a block, whether or not it did what it should. */
export type Landed = {
  readonly signature: string
  readonly bytes: Uint8Array
  readonly transaction: Transaction
  readonly slot: number
  readonly atMs: number
  readonly err: TransactionError | null
  readonly logs: readonly string[]
  readonly unitsConsumed: number
  /** Every account that it names, as it was and as it is after it. */
  readonly before: readonly (EncodedAccount | null)[]
  readonly after: readonly (EncodedAccount | null)[]
}

export type SimulatedTransaction = Pick<Landed, 'err' | 'logs' | 'unitsConsumed'>

export type BankOptions = {
  readonly clock: Clock
  /** From the block of a transaction to the votes of most of the others. */
  readonly confirmationMs: number
}

/**
 * The state of a chain: accounts, blocks as a function of time, and what landed in them. The programs are
 * the real ones, run by LiteSVM; it knows one blockhash, so that they are made and checked here.
 */
export class Bank {
  readonly #svm = new LiteSVM()
    .withBlockhashCheck(false)
    .withTransactionHistory(BigInt(REMEMBERED_MAX))
  readonly #clock: Clock
  readonly #confirmationMs: number
  readonly #startedMs: number
  /** The slot of each blockhash that a client received. */
  readonly #blockhashes = new BoundedMap<string, number>(REMEMBERED_MAX)
  readonly #landed = new BoundedMap<string, Landed>(REMEMBERED_MAX)
  /** Their messages, which identify a duplicate independently of its signer. */
  readonly #messages = new BoundedMap<string, Landed>(REMEMBERED_MAX)
  readonly #held: Uint8Array[] = []
  #isHolding = false
  #skippedSlots = 0

  constructor({ clock, confirmationMs }: BankOptions) {
    this.#clock = clock
    this.#confirmationMs = confirmationMs
    this.#startedMs = clock.nowMs()
  }

  slot(commitment: Commitment): number {
    const sinceStart = Math.floor((this.#clock.nowMs() - this.#startedMs) / SLOT_MS)
    const newest = FIRST_SLOT + sinceStart + this.#skippedSlots
    return commitment === 'finalized' ? newest - FINALIZED_BEHIND : newest
  }

  timeMsOf(slot: number): number {
    return this.#clock.nowMs() - (this.slot('processed') - slot) * SLOT_MS
  }

  blockHeight(slot: number): number {
    return slot - SKIPPED_SLOTS
  }

  /** The hash of the newest block, which transactions name to be accepted for a minute. */
  latestBlockhash(commitment: Commitment): { blockhash: string; lastValidBlockHeight: number } {
    const slot = this.slot(commitment)
    const blockhash = getBase58Decoder().decode(sha256(stringToBytes(`block ${slot}`), 'bytes'))
    this.#blockhashes.set(blockhash, slot)
    return { blockhash, lastValidBlockHeight: this.blockHeight(slot) + BLOCKHASH_SLOTS_MAX }
  }

  isBlockhashValid(blockhash: string, commitment: Commitment): boolean {
    const madeIn = this.#blockhashes.get(blockhash)
    const slot = this.slot(commitment)
    return madeIn !== undefined && madeIn <= slot && slot - madeIn <= BLOCKHASH_SLOTS_MAX
  }

  /** Skips ahead until every known blockhash has expired. */
  expireBlockhashes(): void {
    this.#skippedSlots += BLOCKHASH_SLOTS_MAX + FINALIZED_BEHIND + 1
  }

  account(key: string): EncodedAccount | null {
    const found = this.#svm.getAccount(address(key))
    return found.exists ? found : null
  }

  setAccount(key: Address, owner: Address, data: Uint8Array, lamportsHeld: bigint): void {
    this.#svm.setAccount({
      address: key,
      programAddress: owner,
      data,
      executable: false,
      lamports: lamports(lamportsHeld),
      space: BigInt(data.length),
    })
  }

  setLamports(key: Address, atomic: bigint): void {
    this.setAccount(key, SYSTEM_PROGRAM, new Uint8Array(), atomic)
  }

  rentExemptLamports(bytes: number): bigint {
    return this.#svm.minimumBalanceForRentExemption(BigInt(bytes))
  }

  /** From now on transactions are accepted, and no block takes them. */
  hold(): void {
    this.#isHolding = true
  }

  /** Blocks include waiting and new transactions. */
  release(): void {
    this.#isHolding = false
    for (const bytes of this.#held.splice(0)) this.#execute(bytes)
  }

  /** How many wait. */
  get held(): number {
    return this.#held.length
  }

  /** What waits is forgotten, as the network forgets. */
  drop(): void {
    this.#held.length = 0
  }

  /** Hands a transaction to the network, which says nothing of what becomes of it. @returns its signature */
  submit(bytes: Uint8Array): string {
    if (this.#isHolding) this.#held.push(bytes)
    else this.#execute(bytes)
    return signatureOf(bytes)
  }

  simulate(
    bytes: Uint8Array,
    { sigVerify, replaceBlockhash }: SimulationChoices,
  ): SimulatedTransaction {
    const nothing = { logs: [], unitsConsumed: 0 }
    const transaction = getTransactionDecoder().decode(bytes)
    if (!replaceBlockhash) {
      const { lifetimeToken } = messageOf(transaction)
      if (!this.isBlockhashValid(lifetimeToken, 'processed'))
        return { ...nothing, err: 'BlockhashNotFound' }
      if (this.#messages.has(messageKey(transaction)))
        return { ...nothing, err: 'AlreadyProcessed' }
    }
    this.#svm.withSigverify(sigVerify)
    try {
      const result = this.#svm.simulateTransaction(transaction)
      const meta = result.meta()
      return {
        err: result instanceof FailedTransactionMetadata ? transactionError(result) : null,
        logs: meta.logs(),
        unitsConsumed: Number(meta.computeUnitsConsumed()),
      }
    } catch {
      return { ...nothing, err: 'SignatureFailure' }
    } finally {
      this.#svm.withSigverify(true)
    }
  }

  landed(signature: string): Landed | null {
    return this.#landed.get(signature) ?? null
  }

  /** Newest first. */
  landedNaming(key: string): readonly Landed[] {
    return [...this.#landed.values()]
      .filter(({ transaction }) => accountsOf(transaction).some((account) => account === key))
      .reverse()
  }

  commitmentOf({ slot, atMs }: Landed): Commitment {
    if (slot <= this.slot('finalized')) return 'finalized'
    return this.#clock.nowMs() - atMs >= this.#confirmationMs ? 'confirmed' : 'processed'
  }

  /** What no block can take is dropped without a word. */
  #execute(bytes: Uint8Array): void {
    const signature = signatureOf(bytes)
    const transaction = getTransactionDecoder().decode(bytes)
    const { lifetimeToken } = messageOf(transaction)
    if (!this.isBlockhashValid(lifetimeToken, 'processed')) return
    if (this.#messages.has(messageKey(transaction))) return
    const accounts = accountsOf(transaction)
    const before = accounts.map((key) => this.account(key))
    let result: ReturnType<LiteSVM['sendTransaction']>
    try {
      result = this.#svm.sendTransaction(transaction)
    } catch {
      // A signature is missing.
      return
    }
    const err = result instanceof FailedTransactionMetadata ? transactionError(result) : null
    if (typeof err === 'string') return
    const meta = result instanceof FailedTransactionMetadata ? result.meta() : result
    const landed = {
      signature,
      bytes,
      transaction,
      err,
      before,
      slot: this.slot('processed'),
      atMs: this.#clock.nowMs(),
      logs: meta.logs(),
      unitsConsumed: Number(meta.computeUnitsConsumed()),
      after: accounts.map((key) => this.account(key)),
    }
    this.#landed.set(signature, landed)
    this.#messages.set(messageKey(transaction), landed)
  }
}

export type SimulationChoices = {
  readonly sigVerify: boolean
  readonly replaceBlockhash: boolean
}

/** Those that the message itself names; no table is looked up here. */
export function accountsOf(transaction: Transaction): readonly Address[] {
  return messageOf(transaction).staticAccounts
}

export function messageOf({ messageBytes }: Transaction): CompiledMessage {
  return compiledMessage(Uint8Array.from(messageBytes))
}

function messageKey({ messageBytes }: Transaction): string {
  return sha256(Uint8Array.from(messageBytes))
}

/** The first one names a transaction. */
export function signatureOf(bytes: Uint8Array): string {
  return getBase58Decoder().decode(bytes.subarray(1, 65))
}
