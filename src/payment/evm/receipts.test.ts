import type { TransactionReceipt } from 'viem'
import { TransactionReceiptNotFoundError } from 'viem'
import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { Receipts } from './receipts.ts'

test('the wait for a receipt ends in time at a slow node, with the transaction', async () => {
  const clock = new ManualClock()
  const node = {
    getTransactionReceipt: async ({ hash }: { readonly hash: `0x${string}` }) => {
      clock.advance(100)
      throw new TransactionReceiptNotFoundError({ hash })
    },
  }
  const pausesMs = new Set<number>()
  const receipts = new Receipts(node as never, {
    ...{ nowMs: () => clock.nowMs(), every: () => () => undefined },
    after: (ms, task) => {
      pausesMs.add(ms)
      clock.advance(ms)
      queueMicrotask(task)
      return () => undefined
    },
  })
  const beganMs = clock.nowMs()
  expect(await receipts.promised(`0x${'1'.repeat(64)}`, receipts.deadlineMs())).toBeNull()
  expect(clock.nowMs() - beganMs).toBeLessThanOrEqual(8_100)
  expect([...pausesMs], 'for an unknown chain viem itself asks every four seconds').toEqual([100])
})

describe('the receipt of a flashblock is no receipt of its block', () => {
  const hash = `0x${'1'.repeat(64)}` as const

  /** @param then where the transaction is once block 5 is sealed; null in no block */
  async function sealed(then: bigint | null) {
    const node = {
      getBlockNumber: async () => 5n,
      getTransactionReceipt: async () => {
        if (then === null) throw new TransactionReceiptNotFoundError({ hash })
        return { transactionHash: hash, blockNumber: then }
      },
    }
    const receipts = new Receipts(node as never, new ManualClock())
    const promised = { transactionHash: hash, blockNumber: 5n } as TransactionReceipt
    return receipts.sealed(promised, receipts.deadlineMs())
  }

  test('which has omitted the transaction', async () => {
    expect(await sealed(null)).toBeNull()
    expect(await sealed(6n), 'a later flashblock has it').toBeNull()
  })

  test('unless the block has it', async () => {
    expect(await sealed(5n)).toMatchObject({ blockNumber: 5n })
  })
})
