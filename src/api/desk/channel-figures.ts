import type { ChannelFigures } from '../../domain/desk-reports.ts'
import type { Channel } from '../../payment/channels/channel-store.ts'
import { claimOf } from '../../payment/channels/channel-store.ts'

const LARGEST_MAX = 20

/** Deposits of buyers, and what can be claimed of them now. */
export function channelFigures(channels: readonly Channel[]): ChannelFigures {
  const claims = channels.map((channel) => ({ channel, claimable: claimableOf(channel) }))
  const total = claims.reduce((sum, { claimable }) => sum + claimable, 0n)
  const largest = claims
    .filter(({ claimable }) => claimable > 0n)
    .sort((a, b) => (a.claimable > b.claimable ? -1 : a.claimable < b.claimable ? 1 : 0))
    .slice(0, LARGEST_MAX)
  return {
    open: channels.filter(({ balance }) => balance > 0n).length,
    claimableAtomic: total.toString(),
    largest: largest.map(({ channel, claimable }) => ({
      id: channel.id,
      payer: channel.config.payer,
      balanceAtomic: channel.balance.toString(),
      claimableAtomic: claimable.toString(),
      sinceMs: channel.unclaimedSinceMs,
    })),
  }
}

function claimableOf(channel: Channel): bigint {
  const claim = claimOf(channel)
  return claim === null ? 0n : claim.total - channel.claimed
}
