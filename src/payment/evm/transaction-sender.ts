import type { Hex, PrivateKeyAccount, TransactionReceipt } from 'viem'
import { keccak256 } from 'viem'
import type { Clock } from '../../domain/clock.ts'
import { OperatingError } from '../../domain/errors.ts'
import type { AccountTurns } from './account-turns.ts'
import type { Fees } from './gas-fees.ts'
import { GasFees } from './gas-fees.ts'
import {
  isAlreadyKnown,
  isMethodMissing,
  isNonceTaken,
  isNonceTooLow,
  isStillPending,
  rpcError,
} from './node-answer.ts'
import type { NodeClient } from './node-client.ts'
import { receiptOf } from './receipts.ts'
import type { ContractCall } from './transfer.ts'

/** A transaction that the node accepted, with its receipt if the node waited for it. */
export type BroadcastTransaction = {
  readonly hash: Hex
  readonly receipt: TransactionReceipt | null
}

export type SendOptions = {
  /** Whether the node may answer after the transaction is mined, which saves requests. */
  readonly untilMined: boolean
  /** Most that the transaction may cost, wei; without it the fees alone are bounded. */
  readonly costMax?: bigint
  /** Gets each hash before it is sent, because the reply can be lost. */
  readonly onSigned: (hash: Hex) => void
}

/** A sent transaction without an answer. */
type Flight = { readonly raw: Hex; readonly nonce: number }

/**
 * Sends the transactions of one account in order. A nonce is used once the node has accepted the transaction before,
 * and read from the chain again after a failure, so that no gap blocks later transactions.
 */
export class TransactionSender {
  readonly #node: NodeClient
  readonly #account: PrivateKeyAccount
  readonly #fees: GasFees
  readonly #turns: AccountTurns
  #nextNonce: number | null = null
  #flight: Flight | null = null
  /** Whether the node has `eth_sendRawTransactionSync` (EIP-7966); null if unknown. */
  #isSyncOffered: boolean | null = null

  constructor(node: NodeClient, account: PrivateKeyAccount, clock: Clock, turns: AccountTurns) {
    this.#node = node
    this.#account = account
    this.#turns = turns
    this.#fees = new GasFees(node, clock)
  }

  async send(
    call: ContractCall,
    { untilMined, costMax, onSigned }: SendOptions,
  ): Promise<BroadcastTransaction> {
    const [fees, isSync] = await Promise.all([
      this.#fees.current(),
      // A node that waits for a block does not report that it took the nonce, so it would hold the turn of the others.
      untilMined && !this.#turns.isShared && this.#offersSync(),
    ])
    const cost = call.gas * fees.maxFeePerGas
    if (costMax !== undefined && cost > costMax)
      throw new OperatingError('gas_too_dear', `${cost} wei exceed the limit of ${costMax} wei`)
    const transaction = { ...call, ...fees }
    let first: Hex | null = null
    try {
      return await this.#attempt(transaction, isSync, (hash) => {
        first = hash
        onSigned(hash)
      })
    } catch (cause) {
      // Causes: another sender with this key, a node that lags behind, or a provider that resent a mined transaction. A
      // second transfer of the same authorization would revert, so one retry is safe.
      if (!isNonceTaken(cause)) throw cause
      const receipt = first === null ? null : await receiptOf(this.#node, first)
      if (first !== null && receipt !== null) return { hash: first, receipt }
      return this.#attempt(transaction, isSync, onSigned)
    }
  }

  /** For a missing transaction: it may have been dropped, and its nonce be free again. */
  discardNonce(): void {
    this.#nextNonce = null
  }

  async #attempt(
    transaction: ContractCall & Fees,
    isSync: boolean,
    onSigned: (hash: Hex) => void,
  ): Promise<BroadcastTransaction> {
    const { hash, reply } = await this.#turns.run(async () => {
      if (this.#turns.isShared) this.discardNonce()
      await this.#untilTaken()
      const nonce = this.#nextNonce ?? (await this.#pendingNonce())
      const raw = await this.#account.signTransaction({
        ...transaction,
        nonce,
        type: 'eip1559',
        chainId: this.#node.chain.id,
      })
      const hash = keccak256(raw)
      onSigned(hash)
      const reply = this.#broadcast({ raw, nonce }, isSync)
      if (!isSync) await reply
      return { hash, reply }
    })
    return { hash, receipt: await reply }
  }

  /** @returns the receipt if the node waited for it */
  async #broadcast(flight: Flight, isSync: boolean): Promise<TransactionReceipt | null> {
    this.#nextNonce = null
    this.#flight = flight
    let receipt: TransactionReceipt | null = null
    try {
      receipt = isSync ? await this.#sendUntilMined(flight.raw) : await this.#sendRaw(flight.raw)
    } catch (cause) {
      if (!isAlreadyKnown(cause) && !isStillPending(cause)) {
        if (this.#flight === flight) this.#flight = null
        throw cause
      }
    }
    this.#taken(flight)
    return receipt
  }

  async #sendUntilMined(serializedTransaction: Hex): Promise<TransactionReceipt | null> {
    try {
      return await this.#node.sendRawTransactionSync({ serializedTransaction })
    } catch (cause) {
      if (!isMethodMissing(cause)) throw cause
      this.#isSyncOffered = false
      return this.#sendRaw(serializedTransaction)
    }
  }

  async #sendRaw(serializedTransaction: Hex): Promise<null> {
    await this.#node.sendRawTransaction({ serializedTransaction })
    return null
  }

  /**
   * A node that waits for a block does not report acceptance. A repeated transaction is rejected as known or accepted
   * now.
   */
  async #untilTaken(): Promise<void> {
    const flight = this.#flight
    if (flight === null) return
    try {
      await this.#sendRaw(flight.raw)
    } catch (cause) {
      if (!isAlreadyKnown(cause) && !isNonceTooLow(cause)) {
        // Without an answer, the next nonce is read from the chain.
        this.#flight = null
        return
      }
    }
    this.#taken(flight)
  }

  #taken(flight: Flight): void {
    if (this.#flight !== flight) return
    this.#flight = null
    this.#nextNonce = flight.nonce + 1
  }

  /** Sends an undecodable transaction: a node with the method reports a decoding error. */
  async #offersSync(): Promise<boolean> {
    if (this.#isSyncOffered !== null) return this.#isSyncOffered
    try {
      await this.#node.request({ method: 'eth_sendRawTransactionSync', params: ['0x'] })
    } catch (cause) {
      const error = rpcError(cause)
      if (error === null) return false
      this.#isSyncOffered =
        !isMethodMissing(error) && !/method|support|allow|limit|quota/i.test(error.details)
    }
    return this.#isSyncOffered ?? false
  }

  #pendingNonce(): Promise<number> {
    return this.#node.getTransactionCount({
      address: this.#account.address,
      blockTag: 'pending',
    })
  }
}
