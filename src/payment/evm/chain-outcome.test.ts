import { expect, test } from 'vitest'
import { chainOutcome } from './chain-outcome.ts'
import { base } from './networks.ts'

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
