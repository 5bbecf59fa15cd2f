import type { Address } from 'viem'
import { parseAbi } from 'viem/utils'
import type { Add, BlockQuery, Read } from './block-query.ts'
import { blockQuery, MULTICALL3_CONTRACT } from './block-query.ts'
import type { ChainlinkFeed } from './chainlink-feeds.ts'
import { chainlinkFeeds } from './chainlink-feeds.ts'
import { contractCall, mapped } from './contract-calls.ts'
import type { EvmChainConfig, EvmPool } from './evm-chains.ts'
import { balanceOf, liquidityOf, poolAbi, sqrtPriceOf } from './pool-calls.ts'

/** The state of one pool in the units of its contracts, not yet checked. */
export type PoolReading = {
  readonly pool: EvmPool
  /** Square root of the price of token 0 in token 1, both in smallest units, times 2^96. */
  readonly sqrtPriceX96: bigint
  readonly liquidity: bigint
  /** Millionths of a swap. */
  readonly fee: number
  /** Smallest units of the quote token. */
  readonly balance: bigint
  /** Mean tick of the last minute; null if the pool stores no observations for it. */
  readonly meanTick: number | null
}

/** The newest answer of a Chainlink feed in its smallest unit, and its time in seconds. */
type ChainlinkRound = { readonly answer: bigint; readonly updatedAt: bigint }

/** A chain as of one block. */
export type ChainReading = {
  readonly blockNumber: number
  readonly blockTimeMs: number
  /** Excludes pools with a failed required call. */
  readonly pools: readonly PoolReading[]
  readonly rounds: readonly { readonly feed: ChainlinkFeed; readonly round: ChainlinkRound }[]
}

const TWAP_SECONDS = 60
/** On Arbitrum `block.number` is the number of Ethereum's block; this precompile returns its own. */
const ARB_SYS: Address = '0x0000000000000000000000000000000000000064'

const multicallAbi = parseAbi(['function getBlockNumber() view returns (uint256)'])
const arbSysAbi = parseAbi(['function arbBlockNumber() view returns (uint256)'])
const feedAbi = parseAbi([
  'function latestRoundData() view returns (uint80 roundId, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredInRound)',
])

/** Block number, all pools and all Chainlink feeds of a chain. */
export function chainQuery(
  { chain, chainId }: EvmChainConfig,
  pools: readonly EvmPool[],
): BlockQuery<Omit<ChainReading, 'blockTimeMs'>> {
  return blockQuery(chainId, (add) => {
    const numberOf = add(
      chain === 'arbitrum'
        ? contractCall(ARB_SYS, arbSysAbi, 'arbBlockNumber', [])
        : contractCall(MULTICALL3_CONTRACT, multicallAbi, 'getBlockNumber', []),
    )
    const poolReads = pools.map((pool) => poolRead(add, pool))
    const roundReads = chainlinkFeeds(chain).map((feed) => ({ feed, read: roundRead(add, feed) }))
    return (returned) => {
      const blockNumber = Number(numberOf(returned))
      if (!Number.isSafeInteger(blockNumber) || blockNumber <= 0) return null
      return {
        blockNumber,
        pools: poolReads.flatMap((read) => read(returned) ?? []),
        rounds: roundReads.flatMap(({ feed, read }) => {
          const round = read(returned)
          return round === null ? [] : { feed, round }
        }),
      }
    }
  })
}

function poolRead(add: Add, pool: EvmPool): Read<PoolReading> {
  const { address, quoteToken } = pool
  const priceOf = add(sqrtPriceOf(address))
  const depthOf = add(liquidityOf(address))
  const feeOf = add(contractCall(address, poolAbi, 'fee', []))
  const balance = add(balanceOf(quoteToken.address, address))
  const observed = contractCall(address, poolAbi, 'observe', [[TWAP_SECONDS, 0]])
  const tickOf = add(mapped(observed, ([ticks]) => meanTick(ticks)))
  return (returned) => {
    const sqrtPriceX96 = priceOf(returned)
    const liquidity = depthOf(returned)
    const fee = feeOf(returned)
    const held = balance(returned)
    if (sqrtPriceX96 === null || liquidity === null || fee === null || held === null) return null
    return { pool, sqrtPriceX96, liquidity, fee, balance: held, meanTick: tickOf(returned) }
  }
}

/** Fails for a pool that returns too few observations. */
function meanTick([from, to]: readonly bigint[]): number {
  if (from === undefined || to === undefined) throw new Error('too few observations')
  return Number(to - from) / TWAP_SECONDS
}

function roundRead(add: Add, { address }: ChainlinkFeed): Read<ChainlinkRound> {
  const latest = contractCall(address, feedAbi, 'latestRoundData', [])
  return add(mapped(latest, ([, answer, , updatedAt]) => ({ answer, updatedAt })))
}
