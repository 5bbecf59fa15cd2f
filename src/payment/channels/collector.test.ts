import type { Hex } from 'viem'
import { describe, expect, test } from 'vitest'
import { channelConfig } from '../testing/channel-config.ts'
import type { Channel } from './channel-store.ts'
import { dueChannels, unclaimedOf } from './collector.ts'

const HOUR_MS = 3_600_000
const MAX = 1_000n

function channel(changes: Partial<Channel> = {}): Channel {
  return {
    id: `0x${'ab'.repeat(32)}` as Hex,
    config: channelConfig,
    charged: 300n,
    signature: `0x${'11'.repeat(65)}`,
    unclaimedSinceMs: 0,
    balance: 10_000n,
    claimed: 100n,
    withdrawRequestedAtSeconds: 0,
    refundNonce: 0n,
    refundSent: null,
    syncedMs: 0,
    ...changes,
  }
}

const due = (channels: readonly Channel[], nowMs: number) =>
  dueChannels(channels, nowMs, HOUR_MS, MAX)
const isDue = (channels: readonly Channel[], nowMs: number) => due(channels, nowMs).length > 0

describe('a claim is due', () => {
  test('when the oldest voucher has waited long enough, not before', () => {
    const channels = [channel({ unclaimedSinceMs: HOUR_MS }), channel()]
    expect(isDue(channels, HOUR_MS - 1)).toBe(false)
    expect(isDue(channels, HOUR_MS)).toBe(true)
  })

  test('when enough has come together', () => {
    expect(isDue([channel({ charged: 600n }), channel({ charged: 599n })], 1)).toBe(false)
    expect(isDue([channel({ charged: 600n }), channel({ charged: 600n })], 1)).toBe(true)
  })

  test('immediately when a payer with an unclaimed sum announces a withdrawal', () => {
    expect(isDue([channel({ withdrawRequestedAtSeconds: 1 })], 1)).toBe(true)
    const nothing = { claimed: 300n, unclaimedSinceMs: null }
    expect(isDue([channel({ withdrawRequestedAtSeconds: 1, ...nothing })], 1)).toBe(false)
  })

  test('only for the channel with a pending withdrawal', () => {
    const leaving = channel({ withdrawRequestedAtSeconds: 1 })
    expect(due([channel(), leaving, channel()], 1)).toEqual([leaving])
  })

  test('never when all is claimed', () => {
    const claimed = channel({ claimed: 300n, unclaimedSinceMs: null })
    expect(isDue([claimed], Number.MAX_SAFE_INTEGER)).toBe(false)
    expect(isDue([], 1)).toBe(false)
  })
})

test('what is unclaimed is the sum over channels, since the oldest of them', () => {
  const channels = [channel({ unclaimedSinceMs: 7 }), channel({ unclaimedSinceMs: 5 })]
  expect(unclaimedOf(channels)).toEqual({ amount: 400n, oldestMs: 5 })
  expect(unclaimedOf([])).toEqual({ amount: 0n, oldestMs: null })
})
