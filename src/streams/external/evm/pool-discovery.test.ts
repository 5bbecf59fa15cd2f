import type { Address, Hex } from 'viem'
import { encodeFunctionResult, numberToHex, parseAbi } from 'viem'
import { describe, expect, test } from 'vitest'
import type { EvmChainFacts, PoolSeat } from './evm-chains.ts'
import { evmChains } from './evm-chains.ts'
import { DepthCheck, PoolSearch, reseated } from './pool-discovery.ts'

const abi = parseAbi([
  'struct Result { bool success; bytes returnData; }',
  'function aggregate3() view returns (Result[] returnData)',
])
const ethereum = factsOf('ethereum')
const optimism = factsOf('optimism')
const POOL: Address = '0x00000000000000000000000000000000000000A1'

describe('the search', () => {
  test('asks for every pair, factory and tier once', () => {
    const found = new PoolSearch(optimism).decode(
      reply([10n, ...Array.from({ length: 9 * (3 + 4 + 4) }, () => BigInt(POOL))]),
    )
    expect(found).toHaveLength(99)
    expect(new Set(found?.map(({ dex }) => dex))).toEqual(
      new Set(['uniswap-v3', 'velodrome-slipstream']),
    )
  })

  test('finds what has an address, and nothing where a factory refuses', () => {
    const search = new PoolSearch(ethereum)
    const answers = Array.from({ length: 7 * (3 + 4) }, (_, index) =>
      index === 1 ? BigInt(POOL) : index === 2 ? null : 0n,
    )
    expect(search.decode(reply([1n, ...answers]))).toMatchObject([
      { asset: 'ETH', quote: 'USDC', dex: 'uniswap-v3', pool: POOL },
    ])
  })

  test('takes no answer of another chain, or of another length', () => {
    const search = new PoolSearch(ethereum)
    const answers = Array.from({ length: 49 }, () => 0n)
    expect(search.decode(reply([1n, ...answers]))).toEqual([])
    expect(search.decode(reply([5n, ...answers]))).toBeNull()
    expect(search.decode(reply([1n, ...answers.slice(1)]))).toBeNull()
    expect(search.decode('0x')).toBeNull()
  })
})

describe('the depth', () => {
  const [eth, btc] = ethereum.seeds
  if (eth === undefined || btc === undefined) throw new Error('no seeds')
  const other: PoolSeat = { ...eth, pool: POOL }

  test('of each asset and quote the pool that holds most is kept', () => {
    const check = new DepthCheck(ethereum, [eth, other, btc])
    expect(check.decode(reply([1n, 5_000n, 1n, 9_000n, 1n, 10n, 1n]))).toEqual([other, btc])
  })

  test('is compared in units of the quote, not in what a token counts', () => {
    const fine: PoolSeat = { ...other, quoteToken: { ...eth.quoteToken, decimals: 18 } }
    const check = new DepthCheck(ethereum, [eth, fine])
    expect(check.decode(reply([1n, 5_000_000n, 1n, 10n ** 18n, 1n]))).toEqual([eth])
  })

  test('a pool with nothing in range, or nothing at all, is not kept', () => {
    const check = new DepthCheck(ethereum, [eth, other, btc])
    expect(check.decode(reply([1n, 5_000n, 1n, 9_000n, 0n, 0n, 1n]))).toEqual([eth])
    expect(check.decode(reply([1n, null, 1n, 9_000n, null, 7n, 1n]))).toEqual([btc])
  })

  test('what was not found stays as it was', () => {
    expect(reseated([eth, btc], [other])).toEqual([other, btc])
    expect(reseated([eth, btc], [])).toEqual([eth, btc])
  })
})

function factsOf(name: EvmChainFacts['chain']): EvmChainFacts {
  const facts = evmChains.find(({ chain }) => chain === name)
  if (facts === undefined) throw new Error(`no ${name}`)
  return facts
}

/** What a multicall returns when each call returned one word, or failed. */
function reply(words: readonly (bigint | null)[]): Hex {
  const result = words.map((word) => ({
    success: word !== null,
    // What a call returned that failed is not its answer, however much it looks like one.
    returnData: numberToHex(word ?? 7n, { size: 32 }),
  }))
  return encodeFunctionResult({ abi, functionName: 'aggregate3', result })
}
