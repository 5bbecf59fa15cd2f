import type { Account } from './account.ts'
import type { PoolSeat } from './snapshot.ts'
import { readTokenAmount } from './token-account.ts'
import { readWhirlpool } from './whirlpool.ts'
import { TICK_SPACINGS, whirlpoolPairs } from './whirlpool-pairs.ts'

/** Where a pool of one of our pairs could be. */
export const candidateKeys: readonly string[] = whirlpoolPairs.flatMap(
  ({ candidates }) => candidates,
)

/** @param accounts of {@link candidateKeys}. @returns those that are pools of their pair */
export function readCandidates(accounts: readonly (Account | null)[]): readonly PoolSeat[] {
  const byKey = new Map(candidateKeys.map((key, at) => [key, accounts[at] ?? null]))
  return whirlpoolPairs.flatMap((pair) =>
    pair.candidates.flatMap((pool, at): PoolSeat[] => {
      const read = readWhirlpool(byKey.get(pool) ?? null)
      if (read === null || read.tickSpacing !== TICK_SPACINGS[at]) return []
      if (read.mintA !== pair.assetMint.address || read.mintB !== pair.quoteMint.address) return []
      return [{ pair, pool, quoteVault: read.vaultB }]
    }),
  )
}

/**
 * The pool of each pair that holds most of the quote token.
 * @param vaults the accounts of the seats' vaults, in their order
 */
export function deepestOf(
  seats: readonly PoolSeat[],
  vaults: readonly (Account | null)[],
): readonly PoolSeat[] {
  const amounts = new Map(
    seats.map((seat, at) => {
      const mint = seat.pair.quoteMint.address
      return [seat, readTokenAmount(vaults[at] ?? null, mint, seat.pool) ?? 0n]
    }),
  )
  const amountOf = (seat: PoolSeat) => amounts.get(seat) ?? 0n
  return whirlpoolPairs.flatMap((pair) => {
    const ofPair = seats.filter((seat) => seat.pair === pair && amountOf(seat) > 0n)
    const [first, ...others] = ofPair
    if (first === undefined) return []
    return [others.reduce((best, seat) => (amountOf(seat) > amountOf(best) ? seat : best), first)]
  })
}
