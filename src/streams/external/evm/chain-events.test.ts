import { describe, expect, test } from 'vitest'
import { chainlinkEvents, poolEvents } from './chain-events.ts'
import type { ChainWord, PoolWord } from './chain-reading.ts'
import { chainlinkFeeds } from './chainlink-feeds.ts'
import type { EvmChain, PoolSeat } from './evm-chains.ts'
import { evmChains, isAssetFirst } from './evm-chains.ts'

const NOW_MS = Date.UTC(2026, 9, 7, 15, 7)
const DEEP = 10n ** 20n
const Q96 = 2 ** 96

describe('a pool', () => {
  test('of Ethereum with USDC as token 0', () => {
    const [pool] = told('ethereum', [wordOf('ethereum', 'ETH', 2_000, { tick: -5 })]).pools
    expect(pool).toMatchObject({
      dex: 'uniswap-v3',
      asset: 'ETH',
      representation: 'WETH',
      quote: 'USDC',
      price: expect.closeTo(2_000, 6),
      feeBps: 5,
      balanceQuote: 1_000_000,
      blockNumber: 77,
      timeExchangeMs: NOW_MS - 3_000,
      timeReceivedMs: NOW_MS,
    })
  })

  test('of BNB, where stablecoins have 18 decimals', () => {
    const [pool] = told('bsc', [wordOf('bsc', 'BTC', 77_000)]).pools
    expect(pool).toMatchObject({ representation: 'BTCB', quote: 'USDT', balanceQuote: 1_000_000 })
    expect(pool?.price).toBeCloseTo(77_000, 5)
  })

  test.each<[string, Partial<PoolWord>]>([
    ['a square root beyond what a pool can have', { sqrtPriceX96: 2n ** 160n - 1n }],
    ['no square root', { sqrtPriceX96: 0n }],
    ['a price of another world', { sqrtPriceX96: 2n ** 96n }],
    ['nothing in range', { liquidity: 0n }],
    ['a fee of half of the swap', { fee: 500_000 }],
  ])('with %s is refused, and the others are told', (_, change) => {
    const broken = { ...wordOf('base', 'ETH', 2_000), ...change }
    const { pools, refused } = told('base', [broken, wordOf('base', 'BTC', 77_000)])
    expect(pools.map(({ asset }) => asset)).toEqual(['BTC'])
    expect(refused).toEqual(['pool_refused'])
  })

  test('with a mean that makes no sense has none', () => {
    const [pool] = told('base', [wordOf('base', 'ETH', 2_000, { tick: 500_000 })]).pools
    expect(pool?.twapPrice).toBeNull()
  })
})

describe('BTC against ETH', () => {
  const [eth, btc] = [wordOf('polygon', 'ETH', 2_000), wordOf('polygon', 'BTC', 38)]

  test('is told in stablecoins, by the pool of ETH', () => {
    const { pools } = told('polygon', [eth, btc])
    const [ethPool, route] = pools
    expect(route).toMatchObject({ asset: 'BTC', quote: 'USDC', feeBps: 10, twapPrice: null })
    expect(route?.price).toBeCloseTo(38 * 2_000, 3)
    expect(route?.reserveQuote).toBeLessThan(ethPool?.reserveQuote ?? 0)
  })

  test('moves as much as both pools together', () => {
    const [ethPool, route] = told('polygon', [eth, btc]).pools
    const alone = told('polygon', [eth, { ...btc, liquidity: btc.liquidity * 10n ** 9n }]).pools[1]
    expect(alone?.reserveQuote).toBeCloseTo(ethPool?.reserveQuote ?? 0, 0)
    const paid = 1_000
    const both = (2 * paid) / (ethPool?.reserveQuote ?? 1) + (2 * paid) / (btcReserve() ?? 1)
    expect((2 * paid) / (route?.reserveQuote ?? 1)).toBeCloseTo(both, 12)
    function btcReserve() {
      const shallow = told('polygon', [{ ...eth, liquidity: eth.liquidity * 10n ** 9n }, btc])
      return shallow.pools[1]?.reserveQuote
    }
  })

  test('is not told where the chain has no pool of ETH', () => {
    expect(told('polygon', [btc]).pools).toEqual([])
    expect(told('polygon', [{ ...eth, liquidity: 0n }, btc]).pools).toEqual([])
  })
})

describe('a Chainlink round', () => {
  const [feed] = chainlinkFeeds('ethereum')
  const roundOf = (answer: bigint, updatedAt: number) => {
    if (feed === undefined) throw new Error('no feed')
    const rounds = [{ feed, round: { answer, updatedAt: BigInt(updatedAt) } }]
    const refused: string[] = []
    const word: ChainWord = { blockNumber: 1, blockTimeMs: NOW_MS, pools: [], rounds }
    const events = chainlinkEvents('ethereum', word, NOW_MS, (kind) => refused.push(kind))
    return { events, refused }
  }

  test('has the time at which it was written, however old', () => {
    const atSeconds = NOW_MS / 1_000 - 80_000
    expect(roundOf(96_500_000n, atSeconds).events).toMatchObject([
      { asset: 'USDC', priceUsd: 0.965, resolutionBps: 25, timeExchangeMs: atSeconds * 1_000 },
    ])
  })

  test.each<[string, bigint, number]>([
    ['of zero', 0n, NOW_MS / 1_000],
    ['below zero', -100_000_000n, NOW_MS / 1_000],
    ['without end', 2n ** 255n - 1n, NOW_MS / 1_000],
    ['of the future', 100_000_000n, NOW_MS / 1_000 + 11],
    ['that was never written', 100_000_000n, 0],
  ])('%s is refused', (_, answer, updatedAt) => {
    expect(roundOf(answer, updatedAt)).toEqual({ events: [], refused: ['price_refused'] })
  })
})

function told(chain: EvmChain, pools: readonly PoolWord[]) {
  const refused: string[] = []
  const word: ChainWord = { blockNumber: 77, blockTimeMs: NOW_MS - 3_000, pools, rounds: [] }
  return { pools: poolEvents(chain, word, NOW_MS, (kind) => refused.push(kind)), refused }
}

function wordOf(
  chain: EvmChain,
  asset: PoolSeat['asset'],
  price: number,
  { tick = null }: { readonly tick?: number | null } = {},
): PoolWord {
  const seat = evmChains
    .find((facts) => facts.chain === chain)
    ?.seeds.find((seed) => seed.asset === asset)
  if (seat === undefined) throw new Error(`no pool of ${asset} on ${chain}`)
  const raw = price * 10 ** (seat.quoteToken.decimals - seat.assetToken.decimals)
  return {
    seat,
    sqrtPriceX96: BigInt(Math.round(Math.sqrt(isAssetFirst(seat) ? raw : 1 / raw) * Q96)),
    liquidity: DEEP,
    fee: 500,
    balance: 1_000_000n * 10n ** BigInt(seat.quoteToken.decimals),
    meanTick: tick,
  }
}
