import type { Server } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { asyncScheduler, EMPTY } from 'rxjs'
import type { Address } from 'viem'
import { ContractFunctionRevertedError, createPublicClient, http, parseAbi } from 'viem'
import { arbitrum, avalanche, base, bsc, mainnet, monad, optimism, polygon } from 'viem/chains'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { MarketEvent } from '../src/domain/event.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import { simulatedChains } from '../src/simulator/external/evm/simulated-chains.ts'
import { ReferencePrices } from '../src/simulator/external/reference-prices.ts'
import { SimulatedSources } from '../src/simulator/external/simulated-sources.ts'
import { seededMarket } from '../src/simulator/market/seeded-market.ts'
import { evmChains } from '../src/streams/external/evm/evm-chains.ts'
import { sources } from '../src/streams/external/external-feed.ts'
import { followText, getText, postJson } from '../src/streams/http-exchange.ts'

/** The simulated nodes with viem's own client, over loopback. */

const viemChains = {
  ethereum: mainnet,
  arbitrum,
  base,
  optimism,
  polygon,
  bsc,
  avalanche,
  'pyth-evm': monad,
} as const
type Id = keyof typeof viemChains
const ids = Object.keys(viemChains) as Id[]
/** Between two blocks of Ethereum, the slowest of them. */
const BLOCK_MS_MAX = 12_000

const poolAbi = parseAbi([
  'function token0() view returns (address)',
  'function token1() view returns (address)',
  'function observe(uint32[] secondsAgos) view returns (int56[] tickCumulatives, uint160[] secondsPerLiquidityCumulativeX128s)',
])
const uniswapAbi = parseAbi([
  'function slot0() view returns (uint160 sqrtPriceX96, int24 tick, uint16 observationIndex, uint16 observationCardinality, uint16 observationCardinalityNext, uint8 feeProtocol, bool unlocked)',
])
const slipstreamAbi = parseAbi([
  'function slot0() view returns (uint160 sqrtPriceX96, int24 tick, uint16 observationIndex, uint16 observationCardinality, uint16 observationCardinalityNext, bool unlocked)',
])
const tokenAbi = parseAbi([
  'function decimals() view returns (uint8)',
  'function balanceOf(address) view returns (uint256)',
])
const feedAbi = parseAbi([
  'function latestRoundData() view returns (uint80 roundId, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredInRound)',
])
const pythAbi = parseAbi([
  'struct Price { int64 price; uint64 conf; int32 expo; uint256 publishTime; }',
  'function getPriceUnsafe(bytes32 id) view returns (Price)',
])

let server: Server
let simulated: SimulatedSources
let url: (id: Id) => string

beforeAll(async () => {
  const startMs = systemClock.nowMs()
  const reference = new ReferencePrices({ market: seededMarket({ seed: 3, startMs }), seed: 3 })
  simulated = new SimulatedSources(reference, systemClock)
  server = createServer((request, response) => {
    void simulated.serve(new URL(request.url ?? '/', 'http://localhost'), request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  url = (id) => `http://127.0.0.1:${port}/outside/${id}`
})

afterAll(() => {
  simulated.close()
  server.closeAllConnections()
  server.close()
})

function clientOf(id: Id) {
  const options = { retryCount: 0, batch: id === 'base' }
  return createPublicClient({ chain: viemChains[id], transport: http(url(id), options) })
}

describe.each(ids)("viem's client at %s", (id) => {
  test('reads the chain id, the newest block and the gas price', async () => {
    const client = clientOf(id)
    const beforeMs = systemClock.nowMs()
    const [chainId, number, gas] = await Promise.all([
      client.getChainId(),
      client.getBlockNumber({ cacheTime: 0 }),
      client.getGasPrice(),
    ])
    const afterMs = systemClock.nowMs()
    expect(chainId).toBe(viemChains[id].id)
    expect(gas).toBeGreaterThan(0n)
    const block = await client.getBlock({ blockNumber: number })
    expect(block.number).toBe(number)
    // It was the newest one at some time in between.
    const blockMs = 1_000 * Number(block.timestamp)
    expect(blockMs).toBeGreaterThan(beforeMs - BLOCK_MS_MAX - 1_000)
    expect(blockMs).toBeLessThanOrEqual(afterMs)
  })

  test('reports a missing contract and an unknown method', async () => {
    const client = clientOf(id)
    const address: Address = '0x00000000000000000000000000000000000000aa'
    expect(await client.call({ to: address, data: '0x18160ddd' })).toEqual({ data: undefined })
    await expect(client.request({ method: 'eth_mining' as 'eth_chainId' })).rejects.toMatchObject({
      code: -32601,
    })
  })
})

describe.each(simulatedChains.map((chain) => [chain.chain, chain] as const))(
  'the contracts of %s',
  (name, { pools, feeds }) => {
    test('answer one multicall of viem', async () => {
      const client = clientOf(name)
      const [pool] = pools
      if (pool === undefined) throw new Error('no pool')
      const isSlipstream = pool.dex.endsWith('slipstream')
      const abi = isSlipstream ? slipstreamAbi : uniswapAbi
      const { address } = pool
      const [token0, token1, observed, slot0] = await client.multicall({
        allowFailure: false,
        contracts: [
          { address, abi: poolAbi, functionName: 'token0' },
          { address, abi: poolAbi, functionName: 'token1' },
          { address, abi: poolAbi, functionName: 'observe', args: [[600, 0]] },
          { address, abi, functionName: 'slot0' },
        ],
      })
      expect(BigInt(token0)).toBeLessThan(BigInt(token1))
      expect(slot0).toHaveLength(isSlipstream ? 6 : 7)
      const [[from = 0n, to = 0n]] = observed
      expect(Number(to - from) / 600 / slot0[1]).toBeCloseTo(1, 2)

      const token = { address: pool.quote.address, abi: tokenAbi } as const
      const [decimals, balance] = await client.multicall({
        allowFailure: false,
        contracts: [
          { ...token, functionName: 'decimals' },
          { ...token, functionName: 'balanceOf', args: [address] },
        ],
      })
      expect(decimals).toBe(name === 'bsc' ? 18 : 6)
      expect(balance).toBe(BigInt(pool.balanceQuote) * 10n ** BigInt(decimals))

      const rounds = await client.multicall({
        allowFailure: false,
        contracts: feeds.map(
          (feed) => ({ address: feed, abi: feedAbi, functionName: 'latestRoundData' }) as const,
        ),
      })
      for (const [, answer, , updatedAt] of rounds) {
        expect(answer).toBeGreaterThan(0n)
        expect(Number(updatedAt)).toBeLessThanOrEqual(systemClock.nowMs() / 1_000)
      }
    })
  },
)

describe('reverts', () => {
  const thin = simulatedChains
    .flatMap(({ chain, pools }) => pools.map((pool) => ({ chain, pool })))
    .find(({ pool }) => pool.memorySeconds === 0)

  test('a pool without observations reverts with OLD', async () => {
    if (thin === undefined) throw new Error('no thin pool')
    const asked = clientOf(thin.chain).readContract({
      address: thin.pool.address,
      abi: poolAbi,
      functionName: 'observe',
      args: [[60, 0]],
    })
    await expect(asked).rejects.toMatchObject({
      cause: expect.any(ContractFunctionRevertedError),
      shortMessage: expect.stringContaining('OLD'),
    })
  })

  test('Pyth reverts for an unknown feed and answers for a known one', async () => {
    const client = clientOf('pyth-evm')
    const call = {
      address: '0xB754BA51E3861Ac0Cb67f73CD046dE790A36508d',
      abi: pythAbi,
      functionName: 'getPriceUnsafe',
    } as const
    await expect(
      client.readContract({ ...call, args: [`0x${'11'.repeat(32)}`] }),
    ).rejects.toMatchObject({ shortMessage: expect.stringContaining('0x14aebe68') })
    const id = '0xe62df6c8b4a85fe1a67db44dc12de5db330f7ac66b72dc658afedf0f4a415b43'
    const { price, expo } = await client.readContract({ ...call, args: [id] })
    expect(Number(price) * 10 ** expo).toBeGreaterThan(10_000)
  })

  test('a request without JSON-RPC is an error', async () => {
    const ask = async (body: string) => {
      const response = await fetch(url('base'), { method: 'POST', body })
      return response.json()
    }
    expect(await ask('{')).toMatchObject({ error: { code: -32700 } })
    expect(await ask('[]')).toMatchObject({ error: { code: -32600 } })
    expect(await ask('{"id":1}')).toMatchObject({ id: 1, error: { code: -32600 } })
    expect(await ask('null')).toMatchObject({ id: null, error: { code: -32600 } })
    const call = (params: unknown[]) =>
      ask(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_call', params }))
    expect(await call([{}])).toMatchObject({ error: { code: -32602 } })
    const to = '0xcA11bde05977b3631167028862bE2a173976CA11'
    expect(await call([{ to, data: '0x3408e470' }, '0x1'])).toMatchObject({
      error: { code: -32000, message: 'header not found' },
    })
    expect(await call([{ to, data: '0xdeadbeef' }, 'latest'])).toMatchObject({
      error: { code: -32000, message: 'execution reverted' },
    })
  })
})

test('pools have the CREATE2 addresses of the real pools', () => {
  // Published addresses, or derived from the factories with another program.
  const real: Readonly<Record<string, readonly string[]>> = {
    ethereum: [
      '0x88e6A0c2dDD26FEEb64F039a2c41296FcB3f5640',
      '0x9a772018FbD77fcD2d25657e5C547BAfF3Fd7D16',
      '0x3416cF6C708Da44DB2624D63ea0AAef7113527C6',
    ],
    arbitrum: [
      '0xC6962004f452bE9203591991D15f6b388e09E8D0',
      '0x0E4831319A50228B9e450861297aB92dee15B44F',
      '0xbE3aD6a5669Dc0B8b12FeBC03608860C31E2eef6',
    ],
    base: [
      '0xd0b53D9277642d899DF5C87A3966A349A798F224',
      '0xfBB6Eed8e7aa03B138556eeDaF5D271A5E1e43ef',
      '0xD56da2B74bA826f19015E6B7Dd9Dae1903E85DA1',
    ],
    optimism: [
      '0x1fb3cf6e48F1E7B10213E7b6d87D4c073C7Fdb7b',
      '0x85C31FFA3706d1cce9d525a00f1C7D4A2911754c',
      '0xA73C628eaf6e283E26A7b1f8001CF186aa4c0E8E',
    ],
    polygon: [
      '0xA4D8c89f0c20efbe54cBa9e7e7a7E509056228D9',
      '0x50eaEDB835021E4A108B7290636d62E9765cc6d7',
      '0x31083a78E11B18e450fd139F9ABEa98CD53181B7',
    ],
    bsc: [
      '0xBe141893E4c6AD9272e8C04BAB7E6a10604501a5',
      '0x9F599F3D64a9D99eA21e68127Bb6CE99f893DA61',
      '0x46Cf1cF8c69595804ba91dFdd8d6b960c9B0a7C4',
      '0x92b7807bF19b7DDdf89b706143896d05228f3121',
    ],
    avalanche: [
      '0x43fb9c3fd6715e872272B0CAAB968A97692726EB',
      '0x2E587b9E7aA638d7EB7DB5fe7447513bC4D0D28B',
      '0x804226cA4EDb38e7eF56D16d16E92dc3223347A0',
    ],
  }
  for (const { chain, pools } of simulatedChains) {
    const addresses = pools.map(({ address }) => address)
    expect(addresses).toEqual(expect.arrayContaining([...(real[chain] ?? [])]))
    const config = evmChains.find((one) => one.chain === chain)
    const initial = config?.initialPools ?? []
    expect(addresses).toEqual(expect.arrayContaining(initial.map(({ address }) => address)))
  }
})

test('our adapters read them over HTTP', async () => {
  const runtime = {
    scheduler: asyncScheduler,
    random: () => 0.5,
    connect: () => EMPTY,
    post: postJson,
    get: getText,
    follow: followText,
  }
  const context = { assets: () => [], onNotice: () => {} }
  const received = await Promise.all(
    ids.map(
      (id) =>
        new Promise<readonly MarketEvent[]>((resolve) => {
          const events: MarketEvent[] = []
          const subscription = sources[id]?.({ urls: [url(id)] }, context, runtime).subscribe(
            (batch) => {
              events.push(...batch)
              if (!batch.some(({ kind }) => kind === 'oracle-price')) return
              subscription?.unsubscribe()
              resolve(events)
            },
          )
        }),
    ),
  )
  for (const [index, events] of received.entries()) {
    const id = ids[index]
    const states = events.flatMap((event) =>
      event.kind === 'source-status' && event.source === id ? [event.state] : [],
    )
    expect(states, id).toEqual(['down', 'up'])
    const pools = events.filter(({ kind }) => kind === 'pool')
    expect(pools.length, id).toBeGreaterThanOrEqual(id === 'pyth-evm' ? 0 : 3)
  }
})
