import { TransactionReceiptNotFoundError } from 'viem'
import { expect, test } from 'vitest'
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
