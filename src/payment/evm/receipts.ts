import type { Hex, TransactionReceipt } from 'viem'
import { TransactionReceiptNotFoundError } from 'viem'
import type { Clock } from '../../domain/clock.ts'
import type { NodeClient } from './node-client.ts'

/** Half of Base's 200 ms between two flashblocks: the wait for a receipt is latency sold. */
const POLL_MS = 100
/** About 8 s: below the bound of those who wait, so that they learn the hash of what is pending. */
const POLLS_MAX = 80

/** @returns null while no block has the transaction, promised or sealed */
export async function receiptOf(node: NodeClient, hash: Hex): Promise<TransactionReceipt | null> {
  try {
    return await node.getTransactionReceipt({ hash })
  } catch (cause) {
    if (cause instanceof TransactionReceiptNotFoundError) return null
    throw cause
  }
}

/** Waits for what becomes of transactions. Every wait is bounded; null says that it was too short. */
export class Receipts {
  readonly #node: NodeClient
  readonly #clock: Clock

  constructor(node: NodeClient, clock: Clock) {
    this.#node = node
    this.#clock = clock
  }

  /** A receipt may tell of a block that is only promised: on Base, of a flashblock. */
  promised(hash: Hex): Promise<TransactionReceipt | null> {
    return this.#poll(() => receiptOf(this.#node, hash))
  }

  /** The receipt of a block that the chain has. */
  async sealed({
    blockNumber,
    ...receipt
  }: TransactionReceipt): Promise<TransactionReceipt | null> {
    if ((await this.#head()) >= blockNumber) return { ...receipt, blockNumber }
    const reached = await this.#poll(async () =>
      (await this.#head()) >= blockNumber ? true : null,
    )
    // Between the promise and the block it may have been left out.
    return reached === null ? null : receiptOf(this.#node, receipt.transactionHash)
  }

  #head(): Promise<bigint> {
    return this.#node.getBlockNumber({ cacheTime: 0 })
  }

  async #poll<T>(ask: () => Promise<T | null>): Promise<T | null> {
    for (let polls = 0; polls < POLLS_MAX; polls += 1) {
      const answer = await ask()
      if (answer !== null) return answer
      await new Promise<void>((resolve) => this.#clock.after(POLL_MS, resolve))
    }
    return null
  }
}
