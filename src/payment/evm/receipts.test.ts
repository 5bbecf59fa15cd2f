import type { TransactionReceipt } from 'viem'
import { TransactionReceiptNotFoundError } from 'viem'
import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { Receipts } from './receipts.ts'

const hash = `0x${'1'.repeat(64)}` as const

/** Time passes only in pauses, which end immediately. */
function receiptsOf(node: object) {
  const clock = new ManualClock()
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
  return { clock, pausesMs, receipts }
}

test('the wait for a receipt ends in time at a slow node, with the transaction', async () => {
  const { clock, pausesMs, receipts } = receiptsOf({
    getTransactionReceipt: async () => {
      clock.advance(100)
      throw new TransactionReceiptNotFoundError({ hash })
    },
  })
  const beganMs = clock.nowMs()
  expect(await receipts.promised(hash, receipts.deadlineMs())).toBeNull()
  expect(clock.nowMs() - beganMs).toBeLessThanOrEqual(8_100)
  expect([...pausesMs], 'for an unknown chain viem itself asks every four seconds').toEqual([100])
})

describe('the receipt of a flashblock is no receipt of its block', () => {
  /** @param blocks of the transaction at each poll once block 5 is sealed, the last one permanently; null for none */
  async function sealed(...blocks: readonly (bigint | null)[]) {
    let polls = 0
    const { receipts } = receiptsOf({
      getBlockNumber: async () => 5n,
      getTransactionReceipt: async () => {
        const blockNumber = blocks[Math.min(polls, blocks.length - 1)]
        polls += 1
        if (blockNumber === null) throw new TransactionReceiptNotFoundError({ hash })
        return { transactionHash: hash, blockNumber }
      },
    })
    const promised = { transactionHash: hash, blockNumber: 5n } as TransactionReceipt
    return receipts.sealed(promised, receipts.deadlineMs())
  }

  test('which has omitted the transaction', async () => {
    expect(await sealed(null)).toBeNull()
    expect(await sealed(6n), 'a later flashblock has it').toBeNull()
  })

  test('unless the block has it', async () => {
    expect(await sealed(5n)).toMatchObject({ blockNumber: 5n })
    expect(await sealed(null, 5n), 'on a backend that lags').toMatchObject({ blockNumber: 5n })
  })
})
