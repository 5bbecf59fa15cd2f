import type { Address, Hex } from 'viem'
import { concatHex, encodeFunctionResult, numberToHex, parseAbi } from 'viem'
import { describe, expect, test } from 'vitest'
import type { BlockQuery } from './block-query.ts'
import type { EvmChainConfig, EvmPool } from './evm-chains.ts'
import { evmChains } from './evm-chains.ts'
import type { FoundPools } from './pool-discovery.ts'
import { deepestPools, poolSearch, replacePools } from './pool-discovery.ts'

const abi = parseAbi([
  'struct Result { bool success; bytes returnData; }',
  'function aggregate3() view returns (Result[] returnData)',
])
const ethereum = configOf('ethereum')
const optimism = configOf('optimism')
const UNDECODABLE = 'the reply cannot be decoded'
const POOL: Address = '0x00000000000000000000000000000000000000A1'

describe('pool search', () => {
  test('asks every factory for every pair and tier once', () => {
    const found = poolsIn(
      poolSearch(optimism),
      reply([10n, 7n, ...Array.from({ length: 9 * (3 + 4 + 4) }, () => BigInt(POOL))]),
    )
    expect(found).toHaveLength(99)
    expect(new Set(Array.isArray(found) ? found.map(({ dex }) => dex) : found)).toEqual(
      new Set(['uniswap-v3', 'velodrome-slipstream']),
    )
  })

  test('returns pools with an address; a failed call is no pool', () => {
    const search = poolSearch(ethereum)
    const answers = Array.from({ length: 7 * (3 + 4) }, (_, index) =>
      index === 1 ? BigInt(POOL) : index === 2 ? null : 0n,
    )
    expect(poolsIn(search, reply([1n, 7n, ...answers]))).toMatchObject([
      { asset: 'ETH', quote: 'USDC', dex: 'uniswap-v3', address: POOL },
    ])
  })

  test('rejects a reply of another chain or of another length', () => {
    const search = poolSearch(ethereum)
    const answers = Array.from({ length: 49 }, () => 0n)
    expect(poolsIn(search, reply([1n, 7n, ...answers]))).toEqual([])
    expect(poolsIn(search, reply([5n, 7n, ...answers]))).toBe('serves chain 5')
    expect(poolsIn(search, reply([1n, 7n, ...answers.slice(1)]))).toBe(UNDECODABLE)
    expect(poolsIn(search, '0x')).toBe(UNDECODABLE)
  })
})

describe('the deepest pools', () => {
  const [eth, btc] = ethereum.initialPools
  if (eth === undefined || btc === undefined) throw new Error('no initial pools')
  const other: EvmPool = { ...eth, address: POOL }

  /** What a pool returns, at a price of 1 in smallest units. */
  const state = (balance: bigint | null, liquidity: bigint | null = 10n ** 30n) =>
    [balance, liquidity, [2n ** 96n, 0n]] as const

  test('one pool per asset and quote, the one with the largest quote balance', () => {
    const check = deepestPools(ethereum, [eth, other, btc])
    const answer = [...state(5_000n), ...state(9_000n), ...state(10n)]
    expect(poolsIn(check, reply([1n, 7n, ...answer]))).toEqual([other, btc])
  })

  test('a balance that cannot be traded at the current price does not count', () => {
    const check = deepestPools(ethereum, [eth, other])
    const oneSided = state(10n ** 13n, 1n)
    expect(poolsIn(check, reply([1n, 7n, ...oneSided, ...state(10n ** 12n)]))).toEqual([other])
  })

  test('balances are compared in units, not in smallest units', () => {
    const fine: EvmPool = { ...other, quoteToken: { ...eth.quoteToken, decimals: 18 } }
    const check = deepestPools(ethereum, [eth, fine])
    expect(poolsIn(check, reply([1n, 7n, ...state(5_000_000n), ...state(10n ** 18n)]))).toEqual([
      eth,
    ])
  })

  test('pools without active liquidity or without balance are left out', () => {
    const check = deepestPools(ethereum, [eth, other, btc])
    const first = [...state(5_000n), ...state(9_000n, 0n), ...state(0n)]
    expect(poolsIn(check, reply([1n, 7n, ...first]))).toEqual([eth])
    const second = [...state(null), ...state(9_000n, null), ...state(7n)]
    expect(poolsIn(check, reply([1n, 7n, ...second]))).toEqual([btc])
  })

  test('known pools stay where no other pool was found', () => {
    expect(replacePools([eth, btc], [other])).toEqual([other, btc])
    expect(replacePools([eth, btc], [])).toEqual([eth, btc])
  })
})

/** The pools, or the reason for which the reply is invalid. */
function poolsIn(query: BlockQuery<FoundPools>, data: Hex) {
  const decoded = query.decode(data)
  return decoded.quality === 'invalid' ? decoded.reason : decoded.value.pools
}

function configOf(name: EvmChainConfig['chain']): EvmChainConfig {
  const config = evmChains.find(({ chain }) => chain === name)
  if (config === undefined) throw new Error(`no ${name}`)
  return config
}

/** The return value of a multicall in which each call returned 32-byte words or failed. */
function reply(answers: readonly (bigint | readonly bigint[] | null)[]): Hex {
  const result = answers.map((answer) => ({
    success: answer !== null,
    // The data of a failed call is no answer, even if it decodes.
    returnData: concatHex([answer ?? 7n].flat().map((word) => numberToHex(word, { size: 32 }))),
  }))
  return encodeFunctionResult({ abi, functionName: 'aggregate3', result })
}
