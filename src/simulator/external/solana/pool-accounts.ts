import type { Address } from '@solana/kit'
import { address } from '@solana/kit'
import type { StoredAccount } from './account-layouts.ts'
import { tokenData, whirlpoolData } from './account-layouts.ts'
import { addressBytes, programAddress, seedOf } from './program-address.ts'

/** USD prices of base and quote tokens; undefined for an asset that does not trade. */
type PoolPrices = {
  readonly base: (asset: string) => number | undefined
  readonly quote: (asset: string) => number | undefined
}

const PROGRAM = address('whirLbMiicVdio4qvUfM5KAg6Ct8VwpYzGff3uctyCc')
const CONFIG = address('2LecshUwdy9xi7meFgHtFJQNSKk4KdTrcpvaB56dP2NQ')
const TOKEN_PROGRAM = address('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA')
const Q64 = 2 ** 64

type Token = { readonly mint: Address; readonly decimals: number }

const tokens = {
  ETH: { mint: address('7vfCXTUXx5WJV5JADk17DUJ4ksgau7utNKj4b963voxs'), decimals: 8 },
  BTC: { mint: address('cbbtcf3aa214zXHbiAZQwf4122FBYbraNdFqgw4iMij'), decimals: 8 },
  SOL: { mint: address('So11111111111111111111111111111111111111112'), decimals: 9 },
  USDC: { mint: address('EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'), decimals: 6 },
  USDT: { mint: address('Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB'), decimals: 6 },
} as const satisfies Record<string, Token>

type Row = readonly [
  assetA: keyof typeof tokens,
  assetB: keyof typeof tokens,
  tickSpacing: number,
  /** Hundredths of a basis point. */
  feeRate: number,
  /** Reserve at the current price, in units of B. */
  reserveB: number,
  balanceB: number,
]

/** The deepest pool of each pair, and shallower ones. */
const rows: readonly Row[] = [
  ['ETH', 'USDC', 8, 500, 40e6, 1.2e6],
  ['ETH', 'USDC', 64, 3_000, 3e6, 0.2e6],
  ['BTC', 'USDC', 16, 1_600, 30e6, 0.9e6],
  ['BTC', 'USDC', 8, 500, 90e6, 3.1e6],
  ['SOL', 'USDC', 4, 400, 300e6, 14e6],
  ['SOL', 'USDC', 1, 100, 60e6, 1e6],
  ['SOL', 'USDC', 64, 3_000, 20e6, 2e6],
  ['USDC', 'USDT', 1, 100, 4e9, 1.6e6],
  ['USDC', 'USDT', 8, 500, 2e7, 0.01e6],
]

/** The account at an address as of a time. */
export type StoredBy = (prices: PoolPrices, atMs: number) => StoredAccount | null

/** The accounts of all pools: state and two vaults each. */
export function poolAccounts(): ReadonlyMap<string, StoredBy> {
  const accounts = new Map<string, StoredBy>()
  for (const row of rows) {
    const pool = poolOf(row)
    accounts.set(pool.address, (prices, atMs) => whirlpool(pool, prices, atMs))
    accounts.set(pool.vaultA, (prices) => vault(pool, 'A', prices))
    accounts.set(pool.vaultB, (prices) => vault(pool, 'B', prices))
  }
  return accounts
}

type Pool = ReturnType<typeof poolOf>

function poolOf([assetA, assetB, tickSpacing, feeRate, reserveB, balanceB]: Row) {
  const [mintA, mintB] = [tokens[assetA].mint, tokens[assetB].mint]
  const mints = [addressBytes(mintA), addressBytes(mintB)]
  const seeds = [seedOf('whirlpool'), addressBytes(CONFIG), ...mints, seedOf(tickSpacing)]
  const { address, bump } = programAddress(PROGRAM, seeds)
  // Real vaults have random addresses.
  const vaultOf = (mint: Uint8Array) =>
    programAddress(PROGRAM, [seedOf('vault'), addressBytes(address), mint]).address
  const [vaultA, vaultB] = [vaultOf(addressBytes(mintA)), vaultOf(addressBytes(mintB))]
  const numbers = { tickSpacing, feeRate, reserveB, balanceB }
  return { assetA, assetB, mintA, mintB, address, bump, vaultA, vaultB, ...numbers }
}

function whirlpool(pool: Pool, prices: PoolPrices, atMs: number): StoredAccount | null {
  const price = priceOf(pool, prices)
  if (price === null) return null
  const { mintA, mintB, vaultA, vaultB, bump, tickSpacing, feeRate, reserveB } = pool
  const [decimalsA, decimalsB] = [tokens[pool.assetA].decimals, tokens[pool.assetB].decimals]
  const sqrtPrice = Math.sqrt(price * 10 ** (decimalsB - decimalsA))
  return {
    owner: PROGRAM,
    data: whirlpoolData({
      ...{ config: CONFIG, bump, tickSpacing, feeRate, mintA, mintB, vaultA, vaultB },
      sqrtPriceX64: BigInt(Math.round(sqrtPrice * Q64)),
      tick: Math.floor((2 * Math.log(sqrtPrice)) / Math.log(1.0001)),
      liquidity: BigInt(Math.round((reserveB * 10 ** decimalsB) / sqrtPrice)),
      rewardsUpdated: Math.floor(atMs / 1_000),
    }),
  }
}

/** Both vaults hold the same value. */
function vault(pool: Pool, side: 'A' | 'B', prices: PoolPrices): StoredAccount | null {
  const price = priceOf(pool, prices)
  if (price === null) return null
  const [asset, units] =
    side === 'B'
      ? ([pool.assetB, pool.balanceB] as const)
      : ([pool.assetA, pool.balanceB / price] as const)
  const { mint, decimals } = tokens[asset]
  const amount = BigInt(Math.round(units * 10 ** decimals))
  return { owner: TOKEN_PROGRAM, data: tokenData(mint, pool.address, amount) }
}

function priceOf({ assetA, assetB }: Pool, prices: PoolPrices): number | null {
  const [usdA, usdB] = [prices.base(assetA), prices.quote(assetB)]
  return usdA === undefined || usdB === undefined ? null : usdA / usdB
}
