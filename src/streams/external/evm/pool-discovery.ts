import type { BlockQuery } from './block-query.ts'
import { blockQuery } from './block-query.ts'
import type { EvmChainConfig, EvmPool } from './evm-chains.ts'
import { balanceOf, liquidityOf, poolOf } from './pool-calls.ts'

export type FoundPools = { readonly pools: readonly EvmPool[] }

/** Asks every factory of a chain for the pools of every pair in every tier. */
export function poolSearch({ chainId, pairs, factories }: EvmChainConfig): BlockQuery<FoundPools> {
  return blockQuery(chainId, (add) => {
    const reads = factories.flatMap((factory) =>
      pairs.flatMap((pair) =>
        factory.tiers.map((tier) => {
          const addressOf = add(poolOf(factory, pair, tier))
          return { pair, dex: factory.dex, addressOf }
        }),
      ),
    )
    return (returned) => ({
      pools: reads.flatMap(({ pair, dex, addressOf }) => {
        const address = addressOf(returned)
        return address === null || BigInt(address) === 0n ? [] : { ...pair, dex, address }
      }),
    })
  })
}

/** The pool with active liquidity and the largest quote balance, for each asset and quote. */
export function deepestPools(
  { chainId }: EvmChainConfig,
  pools: readonly EvmPool[],
): BlockQuery<FoundPools> {
  return blockQuery(chainId, (add) => {
    const reads = pools.map((pool) => ({
      pool,
      balance: add(balanceOf(pool.quoteToken.address, pool.address)),
      liquidity: add(liquidityOf(pool.address)),
    }))
    return (returned) => {
      const deepest = new Map<string, { readonly pool: EvmPool; readonly units: number }>()
      for (const { pool, balance, liquidity } of reads) {
        const units = Number(balance(returned) ?? 0n) / 10 ** pool.quoteToken.decimals
        const best = deepest.get(pairName(pool))?.units ?? 0
        if ((liquidity(returned) ?? 0n) > 0n && units > best)
          deepest.set(pairName(pool), { pool, units })
      }
      return { pools: [...deepest.values()].map(({ pool }) => pool) }
    }
  })
}

/** Replaces pools by newly found ones of the same asset and quote; keeps the others. */
export function replacePools(
  known: readonly EvmPool[],
  found: readonly EvmPool[],
): readonly EvmPool[] {
  const names = new Set(found.map(pairName))
  return [...found, ...known.filter((pool) => !names.has(pairName(pool)))]
}

function pairName({ asset, quote }: EvmPool): string {
  return `${asset}/${quote}`
}
