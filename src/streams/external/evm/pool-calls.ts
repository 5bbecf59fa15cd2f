import type { Address } from 'viem'
import { parseAbi } from 'viem/utils'
import type { ViewCall } from './contract-calls.ts'
import { contractCall, mapped } from './contract-calls.ts'
import type { PoolFactory, TokenPair } from './evm-chains.ts'

/** The two members of `slot0` that Uniswap v3, PancakeSwap v3 and Slipstream share; the others differ. */
export const poolAbi = parseAbi([
  'function slot0() view returns (uint160 sqrtPriceX96, int24 tick)',
  'function liquidity() view returns (uint128)',
  'function fee() view returns (uint24)',
  'function observe(uint32[] secondsAgos) view returns (int56[] tickCumulatives, uint160[] secondsPerLiquidityCumulativeX128s)',
])
const tokenAbi = parseAbi(['function balanceOf(address account) view returns (uint256)'])
const feeFactoryAbi = parseAbi([
  'function getPool(address tokenA, address tokenB, uint24 fee) view returns (address)',
])
const spacingFactoryAbi = parseAbi([
  'function getPool(address tokenA, address tokenB, int24 tickSpacing) view returns (address)',
])

export function sqrtPriceOf(pool: Address): ViewCall<bigint> {
  return mapped(contractCall(pool, poolAbi, 'slot0', []), ([sqrtPriceX96]) => sqrtPriceX96)
}

/** Liquidity that is active at the current price. */
export function liquidityOf(pool: Address): ViewCall<bigint> {
  return contractCall(pool, poolAbi, 'liquidity', [])
}

export function balanceOf(token: Address, account: Address): ViewCall<bigint> {
  return contractCall(token, tokenAbi, 'balanceOf', [account])
}

/** The pool of a pair in one tier; the zero address if there is none. */
export function poolOf(
  { address, tieredBy }: PoolFactory,
  { assetToken, quoteToken }: TokenPair,
  tier: number,
): ViewCall<Address> {
  const args = [assetToken.address, quoteToken.address, tier] as const
  return tieredBy === 'fee'
    ? contractCall(address, feeFactoryAbi, 'getPool', args)
    : contractCall(address, spacingFactoryAbi, 'getPool', args)
}
