import type { SolanaAccount } from './account.ts'
import { readTokenAmount } from './token-account.ts'
import { readWhirlpool } from './whirlpool.ts'
import type { OrcaPool } from './whirlpool-pairs.ts'
import { TICK_SPACINGS, whirlpoolPairs } from './whirlpool-pairs.ts'

/** The addresses that pools of the pairs can have. */
export const candidateKeys: readonly string[] = whirlpoolPairs.flatMap(
  ({ candidates }) => candidates,
)

/** @param accounts of {@link candidateKeys}. @returns the candidates that are pools of their pair */
export function readCandidates(accounts: readonly (SolanaAccount | null)[]): readonly OrcaPool[] {
  const byKey = new Map(candidateKeys.map((key, at) => [key, accounts[at] ?? null]))
  return whirlpoolPairs.flatMap((pair) =>
    pair.candidates.flatMap((address, at): OrcaPool[] => {
      const read = readWhirlpool(byKey.get(address) ?? null)
      if (read === null || read.tickSpacing !== TICK_SPACINGS[at]) return []
      if (read.mintA !== pair.assetMint.address || read.mintB !== pair.quoteMint.address) return []
      return [{ pair, address, quoteVault: read.vaultB }]
    }),
  )
}

/**
 * The pool of each pair that holds most of the quote token.
 * @param vaults the accounts of the quote vaults, in the order of the pools
 */
export function deepestOf(
  pools: readonly OrcaPool[],
  vaults: readonly (SolanaAccount | null)[],
): readonly OrcaPool[] {
  const deepest = new Map<OrcaPool['pair'], { readonly pool: OrcaPool; readonly amount: bigint }>()
  for (const [at, pool] of pools.entries()) {
    const { pair, address } = pool
    const amount = readTokenAmount(vaults[at] ?? null, pair.quoteMint.address, address) ?? 0n
    if (amount > (deepest.get(pair)?.amount ?? 0n)) deepest.set(pair, { pool, amount })
  }
  return whirlpoolPairs.flatMap((pair) => deepest.get(pair)?.pool ?? [])
}
