import assert from 'node:assert/strict'
import type { Hex, TransactionReceipt } from 'viem'
import { TransactionReceiptNotFoundError } from 'viem'
import type { Clock } from '../../domain/clock.ts'
import type { NodeClient } from './node-client.ts'

/** Half the interval of flashblocks on Base: the buyer waits for the receipt. */
const POLL_MS = 100
/** Below the settlement time-out, so that the pending transaction is known. */
const WAIT_MS_MAX = 8_000
/** Also bounds the wait while the clock is set back. */
const POLLS_MAX = WAIT_MS_MAX / POLL_MS
/** In a row; a node that is down is not awaited. */
const FAILURES_MAX = 3

/** @returns null while no flashblock or block has the transaction */
export async function receiptOf(
  node: Pick<NodeClient, 'getTransactionReceipt'>,
  hash: Hex,
): Promise<TransactionReceipt | null> {
  try {
    return await node.getTransactionReceipt({ hash })
  } catch (cause) {
    if (cause instanceof TransactionReceiptNotFoundError) return null
    throw cause
  }
}

/** Waits for receipts; null after the deadline. */
export class Receipts {
  readonly #node: NodeClient
  readonly #clock: Clock

  constructor(node: NodeClient, clock: Clock) {
    this.#node = node
    this.#clock = clock
  }

  /** Deadline that `promised` and `sealed` share for one transaction. */
  deadlineMs(): number {
    return this.#clock.nowMs() + WAIT_MS_MAX
  }

  /** The receipt can be of a flashblock, which is not final. */
  promised(hash: Hex, deadlineMs: number): Promise<TransactionReceipt | null> {
    return this.#poll(() => receiptOf(this.#node, hash), deadlineMs)
  }

  /** The receipt of a sealed block. */
  async sealed(
    { blockNumber, transactionHash }: TransactionReceipt,
    deadlineMs: number,
  ): Promise<TransactionReceipt | null> {
    return this.#poll(async () => {
      const head = await this.#node.getBlockNumber({ cacheTime: 0 })
      if (head < blockNumber) return null
      // The block can omit a transaction of a flashblock, and a later block can have it. Another backend of the node may
      // answer, which does not have the block yet.
      const receipt = await receiptOf(this.#node, transactionHash)
      return receipt !== null && receipt.blockNumber <= head ? receipt : null
    }, deadlineMs)
  }

  /** Unix time of a sealed block, seconds. */
  async blockSeconds(blockNumber: bigint): Promise<bigint> {
    const block = await this.#poll(() => this.#node.getBlock({ blockNumber }), this.deadlineMs())
    assert(block !== null, 'a missing block is an error')
    return block.timestamp
  }

  /** One request that fails does not leave a transaction unknown that the next one shows. */
  async #poll<T>(ask: () => Promise<T | null>, deadlineMs: number): Promise<T | null> {
    let failures = 0
    for (let polls = 0; polls < POLLS_MAX; polls += 1) {
      const isLast = () => this.#clock.nowMs() + POLL_MS > deadlineMs
      try {
        const answer = await ask()
        if (answer !== null) return answer
        if (isLast()) return null
        failures = 0
      } catch (cause) {
        failures += 1
        if (failures === FAILURES_MAX || isLast()) throw cause
      }
      await new Promise<void>((resolve) => this.#clock.after(POLL_MS, resolve))
    }
    return null
  }
}
