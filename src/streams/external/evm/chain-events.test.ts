import { describe, expect, test } from 'vitest'
import { chainlinkEvents, poolEvents } from './chain-events.ts'
import type { ChainReading, PoolReading } from './chain-query.ts'
import { chainlinkFeeds } from './chainlink-feeds.ts'
import type { EvmChainName, EvmPool } from './evm-chains.ts'
import { evmChains, pairOrder } from './evm-chains.ts'

const NOW_MS = Date.UTC(2026, 9, 7, 15, 7)
const DEEP = 10n ** 20n
const Q96 = 2 ** 96

describe('pool events', () => {
  test('Ethereum, where USDC is token 0', () => {
    const [pool] = eventsOf('ethereum', [readingOf('ethereum', 'ETH', 2_000, { tick: -5 })]).pools
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

  test('BNB Chain, where stablecoins have 18 decimals', () => {
    const [pool] = eventsOf('bsc', [readingOf('bsc', 'BTC', 77_000)]).pools
    expect(pool).toMatchObject({ representation: 'BTCB', quote: 'USDT', balanceQuote: 1_000_000 })
    expect(pool?.price).toBeCloseTo(77_000, 5)
  })

  test.each<[string, Partial<PoolReading>]>([
    ['a square root price beyond the bounds of TickMath', { sqrtPriceX96: 2n ** 160n - 1n }],
    ['a square root price of zero', { sqrtPriceX96: 0n }],
    ['an implausible price', { sqrtPriceX96: 2n ** 96n }],
    ['no active liquidity', { liquidity: 0n }],
    ['a fee of 50 %', { fee: 500_000 }],
  ])('a pool with %s is refused; the other pools are emitted', (_, change) => {
    const broken = { ...readingOf('base', 'ETH', 2_000), ...change }
    const { pools, refused } = eventsOf('base', [broken, readingOf('base', 'BTC', 77_000)])
    expect(pools.map(({ asset }) => asset)).toEqual(['BTC'])
    expect(refused).toEqual(['pool_refused'])
  })

  test('an implausible mean tick gives no TWAP', () => {
    const [pool] = eventsOf('base', [readingOf('base', 'ETH', 2_000, { tick: 500_000 })]).pools
    expect(pool?.twapPrice).toBeNull()
  })
})

describe('a pool of BTC against ETH', () => {
  const [eth, btc] = [readingOf('polygon', 'ETH', 2_000), readingOf('polygon', 'BTC', 38)]

  test('is priced in stablecoins through the pool of ETH', () => {
    const { pools } = eventsOf('polygon', [eth, btc])
    const [ethPool, route] = pools
    expect(route).toMatchObject({ asset: 'BTC', quote: 'USDC', feeBps: 10, twapPrice: null })
    expect(route?.price).toBeCloseTo(38 * 2_000, 3)
    expect(route?.reserveQuote).toBeLessThan(ethPool?.reserveQuote ?? 0)
  })

  test('has the price impact of both pools', () => {
    const [ethPool, route] = eventsOf('polygon', [eth, btc]).pools
    const alone = eventsOf('polygon', [eth, { ...btc, liquidity: btc.liquidity * 10n ** 9n }])
      .pools[1]
    expect(alone?.reserveQuote).toBeCloseTo(ethPool?.reserveQuote ?? 0, 0)
    const paid = 1_000
    const both = (2 * paid) / (ethPool?.reserveQuote ?? 1) + (2 * paid) / (btcReserve() ?? 1)
    expect((2 * paid) / (route?.reserveQuote ?? 1)).toBeCloseTo(both, 12)
    function btcReserve() {
      const shallow = eventsOf('polygon', [{ ...eth, liquidity: eth.liquidity * 10n ** 9n }, btc])
      return shallow.pools[1]?.reserveQuote
    }
  })

  test('is not emitted if the chain has no usable pool of ETH', () => {
    expect(eventsOf('polygon', [btc]).pools).toEqual([])
    expect(eventsOf('polygon', [{ ...eth, liquidity: 0n }, btc]).pools).toEqual([])
  })
})

describe('a Chainlink round', () => {
  const [feed] = chainlinkFeeds('ethereum')
  const roundOf = (answer: bigint, updatedAt: number) => {
    if (feed === undefined) throw new Error('no feed')
    const rounds = [{ feed, round: { answer, updatedAt: BigInt(updatedAt) } }]
    const refused: string[] = []
    const reading: ChainReading = { blockNumber: 1, blockTimeMs: NOW_MS, pools: [], rounds }
    const events = chainlinkEvents('ethereum', reading, NOW_MS, (kind) => refused.push(kind))
    return { events, refused }
  }

  test('keeps its publication time, whatever its age', () => {
    const atSeconds = NOW_MS / 1_000 - 80_000
    expect(roundOf(96_500_000n, atSeconds).events).toMatchObject([
      { asset: 'USDC', priceUsd: 0.965, resolutionBps: 25, timeExchangeMs: atSeconds * 1_000 },
    ])
  })

  test.each<[string, bigint, number]>([
    ['of zero', 0n, NOW_MS / 1_000],
    ['below zero', -100_000_000n, NOW_MS / 1_000],
    ['beyond the range of prices', 2n ** 255n - 1n, NOW_MS / 1_000],
    ['in the future', 100_000_000n, NOW_MS / 1_000 + 11],
    ['without a publication time', 100_000_000n, 0],
  ])('%s is refused', (_, answer, updatedAt) => {
    expect(roundOf(answer, updatedAt)).toEqual({ events: [], refused: ['price_refused'] })
  })
})

function eventsOf(chain: EvmChainName, pools: readonly PoolReading[]) {
  const refused: string[] = []
  const reading: ChainReading = { blockNumber: 77, blockTimeMs: NOW_MS - 3_000, pools, rounds: [] }
  return { pools: poolEvents(chain, reading, NOW_MS, (kind) => refused.push(kind)), refused }
}

function readingOf(
  chain: EvmChainName,
  asset: EvmPool['asset'],
  price: number,
  { tick = null }: { readonly tick?: number | null } = {},
): PoolReading {
  const pool = evmChains
    .find((config) => config.chain === chain)
    ?.initialPools.find((one) => one.asset === asset)
  if (pool === undefined) throw new Error(`no pool of ${asset} on ${chain}`)
  const raw = price * 10 ** (pool.quoteToken.decimals - pool.assetToken.decimals)
  return {
    pool,
    sqrtPriceX96: BigInt(Math.round(Math.sqrt(pairOrder(pool).isAssetFirst ? raw : 1 / raw) * Q96)),
    liquidity: DEEP,
    fee: 500,
    balance: 1_000_000n * 10n ** BigInt(pool.quoteToken.decimals),
    meanTick: tick,
  }
}
