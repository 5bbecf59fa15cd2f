import type { Hex } from 'viem'
import { TransactionReceiptNotFoundError } from 'viem'
import { systemClock } from '../../src/roles/system-clock.ts'

const POLL_MS = 20
/** As viem's own wait. */
const WAIT_MS_MAX = 180_000

type Node<Receipt> = { getTransactionReceipt(asked: { readonly hash: Hex }): Promise<Receipt> }

/**
 * Asks for a receipt until it is there. viem's own wait asks once a block: if it asks before the only block can be
 * read, it never ends.
 */
export async function minedReceipt<Receipt>(node: Node<Receipt>, hash: Hex): Promise<Receipt> {
  const deadlineMs = systemClock.nowMs() + WAIT_MS_MAX
  for (;;) {
    try {
      return await node.getTransactionReceipt({ hash })
    } catch (cause) {
      const isMissing = cause instanceof TransactionReceiptNotFoundError
      if (!isMissing || systemClock.nowMs() > deadlineMs) throw cause
    }
    await new Promise<void>((resolve) => systemClock.after(POLL_MS, resolve))
  }
}
