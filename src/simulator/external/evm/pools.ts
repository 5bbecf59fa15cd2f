import type { Abi, Address, Hex } from 'viem'
import { encodeAbiParameters, getCreate2Address, keccak256, parseAbi } from 'viem'
import type { Contract } from './contract.ts'
import { contract, Revert } from './contract.ts'

export type PoolDex =
  | 'uniswap-v3'
  | 'pancakeswap-v3'
  | 'aerodrome-slipstream'
  | 'velodrome-slipstream'

export type SimulatedToken = {
  readonly symbol: string
  readonly asset: 'ETH' | 'BTC' | 'USDC' | 'USDT'
  readonly address: Address
  readonly decimals: number
}

export type SimulatedPool = {
  readonly dex: PoolDex
  readonly factory: Address
  readonly address: Address
  readonly base: SimulatedToken
  readonly quote: SimulatedToken
  /** Fee in millionths, or tick spacing on Slipstream. */
  readonly tier: number
  /** Quote units that the pool holds. */
  readonly balanceQuote: number
  /** Age of the oldest observation. */
  readonly memorySeconds: number
}

const state =
  'uint160 sqrtPriceX96, int24 tick, uint16 observationIndex, uint16 observationCardinality, uint16 observationCardinalityNext'
const rest = [
  'function liquidity() view returns (uint128)',
  'function fee() view returns (uint24)',
  'function tickSpacing() view returns (int24)',
  'function token0() view returns (address)',
  'function token1() view returns (address)',
  'function observe(uint32[] secondsAgos) view returns (int56[] tickCumulatives, uint160[] secondsPerLiquidityCumulativeX128s)',
] as const
const uniswapAbi: Abi = parseAbi([
  `function slot0() view returns (${state}, uint8 feeProtocol, bool unlocked)`,
  ...rest,
])
const pancakeAbi: Abi = parseAbi([
  `function slot0() view returns (${state}, uint32 feeProtocol, bool unlocked)`,
  ...rest,
])
const slipstreamAbi: Abi = parseAbi([
  `function slot0() view returns (${state}, bool unlocked)`,
  ...rest,
])

/** Concentration of the liquidity: reserve at the current price relative to the balance. */
const CONCENTRATION = 12
/** Of pools of two stablecoins. */
const STABLE_CONCENTRATION = 400
const Q96 = 2 ** 96
/** Sampling period of past prices. */
const OBSERVED_SECONDS = 20
const OBSERVATIONS = 300

/** Fees of Slipstream by tick spacing, millionths; elsewhere the tier is the fee. */
const spacingFees: Readonly<Record<number, number>> = { 1: 100, 50: 500, 100: 400, 200: 3_000 }
const feeSpacings: Readonly<Record<number, number>> = {
  100: 1,
  500: 10,
  2500: 50,
  3000: 60,
  10000: 200,
}

/** @param priceAt quote units for one unit of the base token */
export function poolContract(
  pool: SimulatedPool,
  priceAt: (atMs: number) => number | undefined,
): Contract {
  const { base, quote, tier, balanceQuote, memorySeconds } = pool
  const isSlipstream = pool.dex.endsWith('slipstream')
  const isBaseFirst = BigInt(base.address) < BigInt(quote.address)
  const [token0, token1] = isBaseFirst ? [base, quote] : [quote, base]
  const isStable = base.asset === 'USDC'
  const reserveQuote = balanceQuote * (isStable ? STABLE_CONCENTRATION : CONCENTRATION)

  const rawPriceAt = (atMs: number) => {
    const price = priceAt(atMs)
    if (price === undefined) throw new Revert('LOK')
    const raw = price * 10 ** (quote.decimals - base.decimals)
    return isBaseFirst ? raw : 1 / raw
  }
  const tickAt = (atMs: number) => Math.log(rawPriceAt(atMs)) / Math.log(1.0001)
  const sqrtAt = (atMs: number) => Math.sqrt(rawPriceAt(atMs))

  return contract(abiOf(pool.dex), {
    slot0: (_, blockMs) => {
      const observed = [0, OBSERVATIONS, OBSERVATIONS]
      const common = [toInteger(sqrtAt(blockMs) * Q96), Math.floor(tickAt(blockMs)), ...observed]
      return isSlipstream ? [...common, true] : [...common, 0, true]
    },
    liquidity: (_, blockMs) => {
      const raw = reserveQuote * 10 ** quote.decimals
      const sqrt = sqrtAt(blockMs)
      return toInteger(isBaseFirst ? raw / sqrt : raw * sqrt)
    },
    fee: () => (isSlipstream ? spacingFees[tier] : tier),
    tickSpacing: () => (isSlipstream ? tier : feeSpacings[tier]),
    token0: () => token0.address,
    token1: () => token1.address,
    observe: ([agos], blockMs) => {
      const cumulatives = (agos as readonly number[]).map((ago) => {
        if (ago > memorySeconds) throw new Revert('OLD')
        return BigInt(Math.round(-tickSeconds(tickAt, blockMs, ago)))
      })
      return [cumulatives, cumulatives.map(() => 0n)]
    },
  })
}

/** The integral of the tick over the last seconds: the difference of two cumulatives. */
function tickSeconds(tickAt: (atMs: number) => number, nowMs: number, seconds: number): number {
  let sum = 0
  for (let ago = 0; ago < seconds; ago += OBSERVED_SECONDS) {
    const lasted = Math.min(OBSERVED_SECONDS, seconds - ago)
    sum += tickAt(nowMs - (ago + lasted / 2) * 1_000) * lasted
  }
  return sum
}

function abiOf(dex: PoolDex): Abi {
  if (dex === 'uniswap-v3') return uniswapAbi
  return dex === 'pancakeswap-v3' ? pancakeAbi : slipstreamAbi
}

function toInteger(value: number): bigint {
  return BigInt(Math.floor(value))
}

const feeFactoryAbi: Abi = parseAbi([
  'function getPool(address, address, uint24) view returns (address)',
])
const spacingFactoryAbi: Abi = parseAbi([
  'function getPool(address, address, int24) view returns (address)',
])
const NO_POOL: Address = '0x0000000000000000000000000000000000000000'

/** Accepts the two tokens in any order. */
export function factoryContract(pools: readonly SimulatedPool[], isSlipstream: boolean): Contract {
  const byKey = new Map(
    pools.map(({ base, quote, tier, address }) => [
      keyOf(base.address, quote.address, tier),
      address,
    ]),
  )
  return contract(isSlipstream ? spacingFactoryAbi : feeFactoryAbi, {
    getPool: ([tokenA, tokenB, tier]) =>
      byKey.get(keyOf(String(tokenA), String(tokenB), Number(tier))) ?? NO_POOL,
  })
}

function keyOf(tokenA: string, tokenB: string, tier: number): string {
  return [...[tokenA.toLowerCase(), tokenB.toLowerCase()].toSorted(), tier].join(' ')
}

const UNISWAP_INIT_CODE: Hex = '0xe34f199b19b2b4f47f68442619d555527d244f78a3297ea89325f843f87b8b54'
const PANCAKE_INIT_CODE: Hex = '0x6ce8eb472fa82df5469c6ab6d485f17c3ad13c8cd7af59b3d4a8026c5ce0f7e2'
const PANCAKE_DEPLOYER: Address = '0x41ff9AA7e16B8B1a8a8dc4f0eFacd93D02d071c9'

/** The CREATE2 address of the pool of two tokens and a fee. Slipstream clones its pools instead. */
export function poolAddress(
  dex: 'uniswap-v3' | 'pancakeswap-v3',
  factory: Address,
  [tokenA, tokenB]: readonly [Address, Address],
  fee: number,
): Address {
  const isFirst = BigInt(tokenA) < BigInt(tokenB)
  const [token0, token1] = isFirst ? [tokenA, tokenB] : [tokenB, tokenA]
  const types = [{ type: 'address' }, { type: 'address' }, { type: 'uint24' }] as const
  const isPancake = dex === 'pancakeswap-v3'
  return getCreate2Address({
    from: isPancake ? PANCAKE_DEPLOYER : factory,
    salt: keccak256(encodeAbiParameters(types, [token0, token1, fee])),
    bytecodeHash: isPancake ? PANCAKE_INIT_CODE : UNISWAP_INIT_CODE,
  })
}
