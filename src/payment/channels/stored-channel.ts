import type { Hex } from 'viem'
import type { ChannelConfig } from './channel.ts'
import type { Channel } from './channel-store.ts'

/** A row of either store: PostgreSQL gives integers as `bigint`. */
export type ChannelRow = {
  readonly id: Hex
  readonly config: string
  readonly charged: string
  readonly signature: Hex | null
  readonly unclaimed_since_ms: number | bigint | null
  readonly balance: string
  readonly claimed: string
  readonly withdraw_requested_s: number | bigint
  readonly refund_nonce: string
  readonly refund_sent: string | null
  readonly synced_ms: number | bigint
}

export function channelOf(row: ChannelRow): Channel {
  return {
    id: row.id,
    config: JSON.parse(row.config) as ChannelConfig,
    charged: BigInt(row.charged),
    signature: row.signature,
    unclaimedSinceMs: row.unclaimed_since_ms === null ? null : Number(row.unclaimed_since_ms),
    balance: BigInt(row.balance),
    claimed: BigInt(row.claimed),
    withdrawRequestedAtSeconds: Number(row.withdraw_requested_s),
    refundNonce: BigInt(row.refund_nonce),
    refundSent: row.refund_sent === null ? null : BigInt(row.refund_sent),
    syncedMs: Number(row.synced_ms),
  }
}
