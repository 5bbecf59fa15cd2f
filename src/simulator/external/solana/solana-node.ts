import { address } from '@solana/kit'
import type { NewUpstream } from '../upstream.ts'
import { clockData } from './account-layouts.ts'
import { poolAccounts } from './pool-accounts.ts'
import { PushFeedAccounts } from './push-feed-accounts.ts'
import { SLOT_MS, slotAt, solanaRpc } from './solana-rpc.ts'

const CHAIN = 'solana'
const CLOCK = 'SysvarC1ock11111111111111111111111111111111'
const SYSVAR = address('Sysvar1111111111111111111111111111111111111')

/** A node of Solana with the pools of Orca, the push feeds of Pyth and the clock sysvar. */
export const solanaNode: NewUpstream = (reference, clock) => {
  const pools = poolAccounts()
  const pushes = new PushFeedAccounts(reference, slotAt)
  const newestMs = () => reference.newestMs(CHAIN, clock.nowMs())
  return solanaRpc({
    nowMs: () => clock.nowMs(),
    newestMs,
    accountsAt: (atMs) => {
      const prices = {
        base: (asset: string) => reference.seenOnChainUsd(CHAIN, asset, atMs),
        quote: (asset: string) => reference.quoteOnChainUsd(CHAIN, asset, atMs),
      }
      return (key) => {
        if (key === CLOCK) {
          const seconds = Math.floor(atMs / 1_000)
          return { owner: SYSVAR, data: clockData(slotAt(atMs), seconds, SLOT_MS) }
        }
        return pools.get(key)?.(prices, atMs) ?? pushes.at(key, atMs)
      }
    },
  })
}
