import type { SolanaAccount } from './account.ts'
import { readTokenAmount } from './token-account.ts'
import { readWhirlpool, whirlpoolReserveB } from './whirlpool.ts'
import type { OrcaPool } from './whirlpool-pairs.ts'
import { TICK_SPACINGS, whirlpoolPairs } from './whirlpool-pairs.ts'

/** The addresses that pools of the pairs can have. */
export const candidateKeys: readonly string[] = whirlpoolPairs.flatMap(
  ({ candidates }) => candidates,
)

/** `reserveQuote`: quote units that the liquidity at the current price stands for. */
type Candidate = OrcaPool & { readonly reserveQuote: number }

/** @param accounts of {@link candidateKeys}. @returns the candidates that are pools of their pair */
export function readCandidates(accounts: readonly (SolanaAccount | null)[]): readonly Candidate[] {
  const byKey = new Map(candidateKeys.map((key, at) => [key, accounts[at] ?? null]))
  return whirlpoolPairs.flatMap((pair) =>
    pair.candidates.flatMap((address, at): Candidate[] => {
      const read = readWhirlpool(byKey.get(address) ?? null)
      if (read === null || read.tickSpacing !== TICK_SPACINGS[at]) return []
      if (read.mintA !== pair.assetMint.address || read.mintB !== pair.quoteMint.address) return []
      const reserveQuote = whirlpoolReserveB(read, pair.quoteMint.decimals)
      return [{ pair, address, quoteVault: read.vaultB, reserveQuote }]
    }),
  )
}

/**
 * The pool of each pair with the most quote tokens that can be traded at the current price: its balance, or its active
 * liquidity if that is smaller.
 * @param vaults the accounts of the quote vaults, in the order of the pools
 */
export function deepestOf(
  pools: readonly Candidate[],
  vaults: readonly (SolanaAccount | null)[],
): readonly OrcaPool[] {
  const deepest = new Map<OrcaPool['pair'], { readonly pool: OrcaPool; readonly units: number }>()
  for (const [at, pool] of pools.entries()) {
    const { pair, address, reserveQuote } = pool
    const amount = readTokenAmount(vaults[at] ?? null, pair.quoteMint.address, address) ?? 0n
    const units = Math.min(Number(amount) / 10 ** pair.quoteMint.decimals, reserveQuote)
    if (units > (deepest.get(pair)?.units ?? 0)) deepest.set(pair, { pool, units })
  }
  return whirlpoolPairs.flatMap((pair) => deepest.get(pair)?.pool ?? [])
}
