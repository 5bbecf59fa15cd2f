import type { Abi } from 'viem'
import { parseAbi } from 'viem'
import { drift, noiseKey } from '../../market/noise.ts'
import type { ReferencePrices } from '../reference-prices.ts'
import type { NewUpstream } from '../upstream.ts'
import { chainlinkOf } from './chainlink-network.ts'
import type { Contract, Contracts } from './contract.ts'
import { contract } from './contract.ts'
import { evmRpc, heightAt } from './evm-rpc.ts'
import { addMulticall3 } from './multicall3.ts'
import type { SimulatedPool, SimulatedToken } from './pools.ts'
import { factoryContract, poolContract } from './pools.ts'
import type { SimulatedChain } from './simulated-chains.ts'
import { feedAssets, simulatedChains } from './simulated-chains.ts'

const ARB_SYS = '0x0000000000000000000000000000000000000064'
const ETHEREUM_BLOCK_MS = 12_000
const WEI_PER_GWEI = 1e9
const GAS_DRIFT_MS = 600_000
/** Drift of the gas price as a share of its mean. */
const GAS_DRIFT = 0.3

const tokenAbi: Abi = parseAbi([
  'function balanceOf(address) view returns (uint256)',
  'function decimals() view returns (uint8)',
  'function symbol() view returns (string)',
])
const arbSysAbi: Abi = parseAbi(['function arbBlockNumber() view returns (uint256)'])

/** The node of one simulated chain. */
export function evmNode(name: SimulatedChain['chain']): NewUpstream {
  const chain = simulatedChains.find(({ chain: of }) => of === name)
  if (chain === undefined) throw new RangeError(`no such chain: ${name}`)
  return (reference, clock) => {
    const { chainId, blockMs } = chain
    return evmRpc({
      chainId,
      blockMs,
      nowMs: () => reference.newestMs(name, clock.nowMs()),
      gasPriceWei: (atMs) => gasPriceWei(chain, reference, atMs),
      contracts: contractsOf(chain, reference),
    })
  }
}

function gasPriceWei(chain: SimulatedChain, reference: ReferencePrices, atMs: number): bigint {
  const key = noiseKey(reference.seed, 'gas', chain.chain)
  const calm = chain.gasGwei * (1 + GAS_DRIFT * drift(key, atMs / GAS_DRIFT_MS))
  return BigInt(Math.ceil(calm * reference.stress(atMs) * WEI_PER_GWEI))
}

function contractsOf(chain: SimulatedChain, reference: ReferencePrices): Contracts {
  const contracts = new Map<string, Contract>()
  const add = (address: string, made: Contract) => contracts.set(address.toLowerCase(), made)
  for (const pool of chain.pools)
    add(
      pool.address,
      poolContract(pool, (atMs) => priceOf(chain, reference, pool, atMs)),
    )
  for (const [factory, pools] of Map.groupBy(chain.pools, ({ factory }) => factory))
    add(factory, factoryContract(pools, pools[0]?.dex.endsWith('slipstream') ?? false))
  const tokens = new Set(chain.pools.flatMap(({ base, quote }) => [base, quote]))
  for (const token of tokens) add(token.address, tokenContract(token, chain, reference))
  for (const [index, address] of chain.feeds.entries()) {
    const asset = feedAssets[index]
    if (asset !== undefined) add(address, chainlinkOf(reference).feed(asset))
  }
  const height = (atMs: number) => heightAt(atMs, chain.blockMs)
  // On Arbitrum `block.number` is the one of Ethereum.
  const isArbitrum = chain.chain === 'arbitrum'
  const blockNumber = isArbitrum ? (atMs: number) => heightAt(atMs, ETHEREUM_BLOCK_MS) : height
  addMulticall3({ chainId: chain.chainId, blockNumber, contracts })
  if (isArbitrum)
    add(ARB_SYS, contract(arbSysAbi, { arbBlockNumber: (_, at) => BigInt(height(at)) }))
  return contracts
}

/** Units of the quote token per unit of the base token, with the events of the chain on one side only. */
function priceOf(
  { chain }: SimulatedChain,
  reference: ReferencePrices,
  { base, quote }: SimulatedPool,
  atMs: number,
): number | undefined {
  const baseUsd = reference.seenOnChainUsd(chain, base.asset, atMs)
  const quoteUsd =
    quote.asset === 'ETH'
      ? reference.seenOnChainUsd(chain, 'ETH', atMs)
      : reference.quoteOnChainUsd(chain, quote.asset, atMs)
  if (baseUsd === undefined || quoteUsd === undefined) return undefined
  return baseUsd / quoteUsd
}

/** Each pool holds the same value of both tokens. */
function tokenContract(
  token: SimulatedToken,
  chain: SimulatedChain,
  reference: ReferencePrices,
): Contract {
  const holdings = new Map(chain.pools.map((pool) => [pool.address.toLowerCase(), pool]))
  return contract(tokenAbi, {
    balanceOf: ([account], blockMs) => {
      const pool = holdings.get(String(account).toLowerCase())
      if (pool === undefined) return 0n
      const units = unitsHeld(pool, token, () => priceOf(chain, reference, pool, blockMs))
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
