import type { Hex } from 'viem'
import { encodeAbiParameters, encodeEventTopics, pad } from 'viem'
import { expect, test } from 'vitest'
import { chainOutcome } from './chain-outcome.ts'
import { base } from './networks.ts'
import { tokenAbi as abi } from './token-abi.ts'

test('a node behind the block of a transaction does not say whether its nonce is used', async () => {
  const node = {
    getBlock: async () => ({ number: 6n, timestamp: 1_000n }),
    readContract: async () => false,
  }
  const [from, nonce] = [`0x${'1'.repeat(40)}`, `0x${'2'.repeat(64)}`]
  const payment = { chain: base, authorization: { from, nonce } }
  const outcome = (atLeast?: bigint) => chainOutcome(node as never, payment as never, atLeast)
  expect(await outcome(7n)).toMatchObject({ kind: 'unknown' })
  for (const block of [6n, undefined])
    expect(await outcome(block)).toEqual({ kind: 'unused', asOfSeconds: 1_000 })
})

test('the use of an expired nonce is found although the block of its expiry cannot be read', async () => {
  const [from, to, nonce, transaction] = [
    pad('0x0c', { size: 20 }),
    pad('0x0d', { size: 20 }),
    pad('0x0e'),
    pad('0x01'),
  ]
  const eventLog = (topics: readonly unknown[], data: Hex) => ({
    ...{ address: base.asset, topics, data, transactionHash: transaction },
  })
  const used = { abi, eventName: 'AuthorizationUsed', args: { authorizer: from, nonce } } as const
  const paid = { abi, eventName: 'Transfer', args: { from, to } } as const
  const logs = [
    eventLog(encodeEventTopics(used), '0x'),
    eventLog(encodeEventTopics(paid), encodeAbiParameters([{ type: 'uint256' }], [20_000n])),
  ]
  const node = {
    getBlock: async ({ blockNumber }: { blockNumber?: bigint } = {}) => {
      if (blockNumber !== undefined) throw new Error('the node is away')
      return { number: 1_000n, timestamp: 2_000n }
    },
    readContract: async () => true,
    request: async () => logs.slice(0, 1),
    getTransactionReceipt: async () => ({ logs }),
  }
  const authorization = { ...{ from, to, nonce, value: 20_000n }, validBefore: 1_000n }
  expect(await chainOutcome(node as never, { chain: base, authorization } as never)).toEqual({
    ...{ kind: 'settled', transaction },
  })
})
