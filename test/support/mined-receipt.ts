import type { Hex } from 'viem'
import { TransactionReceiptNotFoundError } from 'viem'
import { systemClock } from '../../src/roles/system-clock.ts'

const POLL_MS = 20

type Node<Receipt> = { getTransactionReceipt(asked: { readonly hash: Hex }): Promise<Receipt> }

/**
 * Asks for a receipt until it is there. viem's own wait asks once a block: if it asks before the only block can be
 * read, it waits for ever.
 */
export async function minedReceipt<Receipt>(node: Node<Receipt>, hash: Hex): Promise<Receipt> {
  for (;;) {
    try {
      return await node.getTransactionReceipt({ hash })
    } catch (cause) {
      if (!(cause instanceof TransactionReceiptNotFoundError)) throw cause
    }
    await new Promise<void>((resolve) => systemClock.after(POLL_MS, resolve))
  }
}
