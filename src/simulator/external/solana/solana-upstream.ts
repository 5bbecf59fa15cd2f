import { address } from '@solana/kit'
import type { NewUpstream } from '../upstream.ts'
import { clockData } from './account-layouts.ts'
import { poolAccounts } from './simulated-pools.ts'
import { SimulatedPushes } from './simulated-pushes.ts'
import { SLOT_MS, slotAt, solanaNode } from './solana-node.ts'

const CHAIN = 'solana'
const CLOCK = 'SysvarC1ock11111111111111111111111111111111'
const SYSVAR = address('Sysvar1111111111111111111111111111111111111')

/** A node of Solana that knows the pools of Orca, the accounts that Pyth writes to, and the time. */
export const solanaUpstream: NewUpstream = (world, clock) => {
  const pools = poolAccounts()
  const pushes = new SimulatedPushes(world, slotAt)
  const newestMs = () => world.newestMs(CHAIN, clock.nowMs())
  return solanaNode({
    nowMs: () => clock.nowMs(),
    newestMs,
    accountsAt: (atMs) => {
      const prices = {
        traded: (asset: string) => world.seenOnChainUsd(CHAIN, asset, atMs),
        counted: (asset: string) => world.quoteOnChainUsd(CHAIN, asset, atMs),
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
