import type { BlockQuery } from './block-query.ts'
import { blockQuery } from './block-query.ts'
import type { EvmChainConfig, EvmPool } from './evm-chains.ts'
import { pairOrder } from './evm-chains.ts'
import { balanceOf, liquidityOf, poolOf, sqrtPriceOf } from './pool-calls.ts'
import { isSqrtPrice, reserveQuoteOf } from './v3-price.ts'

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

/** The pool with the largest quote balance that can be traded at the current price, for each asset and quote. */
export function deepestPools(
  { chainId }: EvmChainConfig,
  pools: readonly EvmPool[],
): BlockQuery<FoundPools> {
  return blockQuery(chainId, (add) => {
    const reads = pools.map((pool) => ({
      pool,
      balance: add(balanceOf(pool.quoteToken.address, pool.address)),
      liquidity: add(liquidityOf(pool.address)),
      sqrtPrice: add(sqrtPriceOf(pool.address)),
    }))
    return (returned) => {
      const deepest = new Map<string, { readonly pool: EvmPool; readonly units: number }>()
      for (const { pool, balance, liquidity, sqrtPrice } of reads) {
        const [held, active] = [balance(returned) ?? 0n, liquidity(returned) ?? 0n]
        const units = tradableUnits(pool, held, active, sqrtPrice(returned) ?? 0n)
        const best = deepest.get(pairName(pool))?.units ?? 0
        if (units > best) deepest.set(pairName(pool), { pool, units })
      }
      return { pools: [...deepest.values()].map(({ pool }) => pool) }
    }
  })
}

/** A balance in ranges that do not hold the current price cannot be traded: then the active liquidity is the bound. */
function tradableUnits(
  pool: EvmPool,
  balance: bigint,
  liquidity: bigint,
  sqrtPriceX96: bigint,
): number {
  if (!isSqrtPrice(sqrtPriceX96)) return 0
  const order = pairOrder(pool)
  const heldUnits = Number(balance) / 10 ** order.quoteDecimals
  return Math.min(heldUnits, reserveQuoteOf(liquidity, sqrtPriceX96, order))
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
