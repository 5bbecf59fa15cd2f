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

describe('a request that fails is repeated', () => {
  const away = new Error('the node is away')
  const found = { transactionHash: hash, blockNumber: 5n } as TransactionReceipt

  function failing(...failures: readonly boolean[]) {
    let requests = 0
    const answer =
      <Reply>(reply: Reply) =>
      async () => {
        requests += 1
        if (failures[requests - 1] === true) throw away
        return reply
      }
    return receiptsOf({
      getBlockNumber: answer(5n),
      getTransactionReceipt: answer(found),
      getBlock: answer({ timestamp: 1_000n }),
    }).receipts
  }

  test('for a receipt, for that of a sealed block and for its time', async () => {
    const receipts = failing(true)
    expect(await receipts.promised(hash, receipts.deadlineMs())).toBe(found)
    expect(await failing(true).sealed(found, receipts.deadlineMs())).toBe(found)
    expect(await failing(true, true).blockSeconds(5n)).toBe(1_000n)
  })

  test('not after the deadline, and not a third time in a row', async () => {
    const receipts = failing(true, true, false, true, true, true)
    await expect(receipts.promised(hash, 0)).rejects.toBe(away)
    expect(await receipts.promised(hash, receipts.deadlineMs())).toBe(found)
    await expect(receipts.promised(hash, receipts.deadlineMs())).rejects.toBe(away)
  })
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
