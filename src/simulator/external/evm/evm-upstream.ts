import type { Abi } from 'viem'
import { parseAbi } from 'viem'
import { drift, noiseKey } from '../../market/noise.ts'
import type { NewUpstream } from '../upstream.ts'
import type { World } from '../world.ts'
import { chainlinkOf } from './chainlink-network.ts'
import type { Contract, Contracts } from './contract.ts'
import { contract } from './contract.ts'
import { heightAt, jsonRpcNode } from './json-rpc-node.ts'
import { MULTICALL3, multicall3 } from './multicall3.ts'
import type { SimulatedPool, SimulatedToken } from './pools.ts'
import { factoryContract, poolContract } from './pools.ts'
import type { SimulatedChain } from './simulated-chains.ts'
import { feedAssets, simulatedChains } from './simulated-chains.ts'

const ARB_SYS = '0x0000000000000000000000000000000000000064'
const ETHEREUM_BLOCK_MS = 12_000
const WEI_PER_GWEI = 1e9
const GAS_DRIFT_MS = 600_000
/** Gas wanders within so much of its mean while nothing happens. */
const GAS_DRIFT = 0.3

const tokenAbi: Abi = parseAbi([
  'function balanceOf(address) view returns (uint256)',
  'function decimals() view returns (uint8)',
  'function symbol() view returns (string)',
])
const arbSysAbi: Abi = parseAbi(['function arbBlockNumber() view returns (uint256)'])

/** The node of one chain of the simulated world. */
export function evmUpstream(name: SimulatedChain['chain']): NewUpstream {
  const chain = simulatedChains.find(({ chain: of }) => of === name)
  if (chain === undefined) throw new RangeError(`no such chain: ${name}`)
  return (world, clock) => {
    const { chainId, blockMs } = chain
    return jsonRpcNode({
      chainId,
      blockMs,
      nowMs: () => world.newestMs(name, clock.nowMs()),
      gasPriceWei: (atMs) => gasPriceWei(chain, world, atMs),
      contracts: contractsOf(chain, world),
    })
  }
}

function gasPriceWei(chain: SimulatedChain, world: World, atMs: number): bigint {
  const key = noiseKey(world.seed, 'gas', chain.chain)
  const calm = chain.gasGwei * (1 + GAS_DRIFT * drift(key, atMs / GAS_DRIFT_MS))
  return BigInt(Math.ceil(calm * world.stress(atMs) * WEI_PER_GWEI))
}

function contractsOf(chain: SimulatedChain, world: World): Contracts {
  const contracts = new Map<string, Contract>()
  const add = (address: string, made: Contract) => contracts.set(address.toLowerCase(), made)
  for (const pool of chain.pools)
    add(
      pool.address,
      poolContract(pool, (atMs) => priceOf(chain, world, pool, atMs)),
    )
  for (const pools of groups(chain.pools, ({ factory }) => factory)) {
    const [first] = pools
    if (first !== undefined)
      add(first.factory, factoryContract(pools, first.dex.endsWith('slipstream')))
  }
  for (const token of tokensOf(chain)) add(token.address, tokenContract(token, chain, world))
  for (const [index, address] of chain.feeds.entries()) {
    const asset = feedAssets[index]
    if (asset !== undefined) add(address, chainlinkOf(world).feed(asset))
  }
  const height = (atMs: number) => heightAt(atMs, chain.blockMs)
  // Contracts on Arbitrum see the block of Ethereum.
  const isArbitrum = chain.chain === 'arbitrum'
  const blockNumber = isArbitrum ? (atMs: number) => heightAt(atMs, ETHEREUM_BLOCK_MS) : height
  add(MULTICALL3, multicall3({ chainId: chain.chainId, blockNumber, contracts }))
  if (isArbitrum)
    add(ARB_SYS, contract(arbSysAbi, { arbBlockNumber: (_, at) => BigInt(height(at)) }))
  return contracts
}

/**
 * What the chain believes an asset to be worth, in the quote token at what that is truly worth: so a gap, an
 * offset or a chain that is frozen shows in each of its pools, and once.
 */
function priceOf(
  { chain }: SimulatedChain,
  world: World,
  { base, quote }: SimulatedPool,
  atMs: number,
): number | undefined {
  const baseUsd = world.seenOnChainUsd(chain, base.asset, atMs)
  const quoteUsd =
    quote.asset === 'ETH'
      ? world.seenOnChainUsd(chain, 'ETH', atMs)
      : world.quoteOnChainUsd(chain, quote.asset, atMs)
  if (baseUsd === undefined || quoteUsd === undefined) return undefined
  return baseUsd / quoteUsd
}

/** Holders are the pools: so much of their quote token, and as much worth of the other. */
function tokenContract(token: SimulatedToken, chain: SimulatedChain, world: World): Contract {
  const holdings = new Map(chain.pools.map((pool) => [pool.address.toLowerCase(), pool]))
  return contract(tokenAbi, {
    balanceOf: ([account], blockMs) => {
      const pool = holdings.get(String(account).toLowerCase())
      if (pool === undefined) return 0n
      const units = unitsHeld(pool, token, () => priceOf(chain, world, pool, blockMs))
      return BigInt(Math.round(units * 1e6)) * 10n ** BigInt(token.decimals - 6)
    },
    decimals: () => token.decimals,
    symbol: () => token.symbol,
  })
}

function unitsHeld(
  { base, quote, balanceQuote }: SimulatedPool,
  token: SimulatedToken,
  price: () => number | undefined,
): number {
  if (token.address === quote.address) return balanceQuote
  return token.address === base.address ? balanceQuote / (price() ?? Number.POSITIVE_INFINITY) : 0
}

function tokensOf({ pools }: SimulatedChain): readonly SimulatedToken[] {
  return [...new Set(pools.flatMap(({ base, quote }) => [base, quote]))]
}

function groups<Item>(items: readonly Item[], keyOf: (item: Item) => string): readonly Item[][] {
  const byKey = new Map<string, Item[]>()
  for (const item of items) byKey.set(keyOf(item), [...(byKey.get(keyOf(item)) ?? []), item])
  return [...byKey.values()]
}
