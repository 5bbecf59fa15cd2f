import type { Address, Hex } from 'viem'
import { decodeFunctionResult, encodeFunctionData, parseAbi } from 'viem'

/** One question to one contract, and how its answer reads. */
export type View<Answer> = {
  readonly target: Address
  readonly data: Hex
  /** @throws Error where the bytes are not what the contract should have returned */
  readonly read: (data: Hex) => Answer
}

export const MULTICALL3: Address = '0xcA11bde05977b3631167028862bE2a173976CA11'
/** Arbitrum's `block.number` is the one of Ethereum; its own is told by this precompile. */
const ARB_SYS: Address = '0x0000000000000000000000000000000000000064'

const chainAbi = parseAbi([
  'function getBlockNumber() view returns (uint256)',
  'function getCurrentBlockTimestamp() view returns (uint256)',
  'function getChainId() view returns (uint256)',
  'function arbBlockNumber() view returns (uint256)',
])
/**
 * Names only the two words of `slot0` that Uniswap v3, PancakeSwap v3 and Slipstream have in common: they
 * differ in number and width of the rest.
 */
const poolAbi = parseAbi([
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
const feedAbi = parseAbi([
  'function latestRoundData() view returns (uint80 roundId, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredInRound)',
])
const pythAbi = parseAbi([
  'struct Price { int64 price; uint64 conf; int32 expo; uint256 publishTime; }',
  'function getPriceUnsafe(bytes32 id) view returns (Price)',
  'function getEmaPriceUnsafe(bytes32 id) view returns (Price)',
])

type NoArgument = 'getBlockNumber' | 'getCurrentBlockTimestamp' | 'getChainId' | 'arbBlockNumber'

const chainView = (functionName: NoArgument, target = MULTICALL3): View<bigint> => ({
  target,
  data: encodeFunctionData({ abi: chainAbi, functionName }),
  read: (data) => decodeFunctionResult({ abi: chainAbi, functionName, data }),
})

export const blockNumber = (): View<bigint> => chainView('getBlockNumber')
export const arbitrumBlockNumber = (): View<bigint> => chainView('arbBlockNumber', ARB_SYS)
/** Unix time of the block, seconds. */
export const blockTimestamp = (): View<bigint> => chainView('getCurrentBlockTimestamp')
export const chainId = (): View<bigint> => chainView('getChainId')

/** The square root of the price of token 0 in token 1, both in their smallest units, times 2^96. */
export const sqrtPriceX96 = (pool: Address): View<bigint> => ({
  target: pool,
  data: encodeFunctionData({ abi: poolAbi, functionName: 'slot0' }),
  read: (data) => decodeFunctionResult({ abi: poolAbi, functionName: 'slot0', data })[0],
})

/** Virtual, at the margin. */
export const liquidity = (pool: Address): View<bigint> => ({
  target: pool,
  data: encodeFunctionData({ abi: poolAbi, functionName: 'liquidity' }),
  read: (data) => decodeFunctionResult({ abi: poolAbi, functionName: 'liquidity', data }),
})

/** In millionths of a swap. */
export const swapFee = (pool: Address): View<number> => ({
  target: pool,
  data: encodeFunctionData({ abi: poolAbi, functionName: 'fee' }),
  read: (data) => decodeFunctionResult({ abi: poolAbi, functionName: 'fee', data }),
})

/** Mean tick of the last seconds. Fails where the pool does not remember so long. */
export const meanTick = (pool: Address, seconds: number): View<number> => ({
  target: pool,
  data: encodeFunctionData({ abi: poolAbi, functionName: 'observe', args: [[seconds, 0]] }),
  read: (data) => {
    const [[from, to]] = decodeFunctionResult({ abi: poolAbi, functionName: 'observe', data })
    if (from === undefined || to === undefined) throw new Error('observe told too little')
    return Number(to - from) / seconds
  },
})

export const balanceOf = (token: Address, account: Address): View<bigint> => ({
  target: token,
  data: encodeFunctionData({ abi: tokenAbi, functionName: 'balanceOf', args: [account] }),
  read: (data) => decodeFunctionResult({ abi: tokenAbi, functionName: 'balanceOf', data }),
})

/** The pool of two tokens with a fee in millionths; the zero address where there is none. */
export const poolByFee = (
  factory: Address,
  [tokenA, tokenB]: readonly [Address, Address],
  fee: number,
): View<Address> => ({
  target: factory,
  data: encodeFunctionData({
    abi: feeFactoryAbi,
    functionName: 'getPool',
    args: [tokenA, tokenB, fee],
  }),
  read: (data) => decodeFunctionResult({ abi: feeFactoryAbi, functionName: 'getPool', data }),
})

/** The same for a factory that tells its pools apart by tick spacing. */
export const poolByTickSpacing = (
  factory: Address,
  [tokenA, tokenB]: readonly [Address, Address],
  tickSpacing: number,
): View<Address> => ({
  target: factory,
  data: encodeFunctionData({
    abi: spacingFactoryAbi,
    functionName: 'getPool',
    args: [tokenA, tokenB, tickSpacing],
  }),
  read: (data) => decodeFunctionResult({ abi: spacingFactoryAbi, functionName: 'getPool', data }),
})

/** What a Chainlink feed said last: the answer in its smallest unit, and when, seconds. */
export type ChainlinkRound = { readonly answer: bigint; readonly updatedAt: bigint }

export const latestRound = (feed: Address): View<ChainlinkRound> => ({
  target: feed,
  data: encodeFunctionData({ abi: feedAbi, functionName: 'latestRoundData' }),
  read: (data) => {
    const [, answer, , updatedAt] = decodeFunctionResult({
      abi: feedAbi,
      functionName: 'latestRoundData',
      data,
    })
    return { answer, updatedAt }
  },
})

/** Price and confidence times 10^expo, USD; publication in seconds. */
export type PythPrice = {
  readonly price: bigint
  readonly conf: bigint
  readonly expo: number
  readonly publishTime: bigint
}

export const pythPrice = (
  contract: Address,
  id: Hex,
  functionName: 'getPriceUnsafe' | 'getEmaPriceUnsafe',
): View<PythPrice> => ({
  target: contract,
  data: encodeFunctionData({ abi: pythAbi, functionName, args: [id] }),
  read: (data) => decodeFunctionResult({ abi: pythAbi, functionName, data }),
})
