import assert from 'node:assert/strict'
import { fc, test as property } from '@fast-check/vitest'
import { concatMap, EMPTY, map, NEVER, of, throwError, timer } from 'rxjs'
import type { Hex } from 'viem'
import { describe, expect, test } from 'vitest'
import { OperatingError } from '../src/domain/errors.ts'
import type { MarketEvent } from '../src/domain/event.ts'
import type { SourceId } from '../src/domain/external.ts'
import { chains } from '../src/domain/external.ts'
import { simulatedChains } from '../src/simulator/external/evm/simulated-chains.ts'
import { ReferencePrices } from '../src/simulator/external/reference-prices.ts'
import type { ScenarioEvent } from '../src/simulator/external/scenario.ts'
import { upstreams } from '../src/simulator/external/simulated-sources.ts'
import { chainlinkEvents, poolEvents } from '../src/streams/external/evm/chain-events.ts'
import { chainQuery } from '../src/streams/external/evm/chain-query.ts'
import type { EvmChainName } from '../src/streams/external/evm/evm-chains.ts'
import { evmChains } from '../src/streams/external/evm/evm-chains.ts'
import { poolSearch } from '../src/streams/external/evm/pool-discovery.ts'
import { pythEvents } from '../src/streams/external/evm/pyth-events.ts'
import { pythFeeds } from '../src/streams/external/evm/pyth-feeds.ts'
import { pythQuery } from '../src/streams/external/evm/pyth-query.ts'
import { sources } from '../src/streams/external/external-feed.ts'
import type { SourceNotice } from '../src/streams/external/source.ts'
import type { ExternalRuntime, HttpReply } from '../src/streams/runtime.ts'
import { Chance } from './simulation/chance.ts'
import { Kernel } from './simulation/kernel.ts'
import { Machine } from './simulation/machine.ts'
import { rememberedMarket } from './support/remembered-market.ts'

/** Our chain adapters at the simulated nodes, without sockets, in virtual time. */

const START_MS = Date.UTC(2026, 9, 7, 15, 7)
const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const LATENCY_MS = 40
const BPS = 1e-4
const names = evmChains.map(({ chain }) => chain)
const market = rememberedMarket({ seed: 5, startMs: START_MS })

/** Reply of a node: the simulated answer, perhaps to another body, or a fault. */
type Node = (answer: (body?: unknown) => string, body: unknown) => string | 'dead' | 'silent'

class Run {
  readonly events: MarketEvent[] = []
  readonly notices: SourceNotice[] = []
  readonly reference: ReferencePrices
  /** Additional nodes by URL. */
  readonly nodes: Record<string, Node>
  readonly asked: { readonly url: string; readonly method: string; readonly atMs: number }[] = []
  readonly #kernel = new Kernel(START_MS)
  readonly #id: SourceId
  readonly #answer: (body: unknown) => string

  constructor(
    id: SourceId,
    scenario: readonly ScenarioEvent[] = [],
    nodes: Record<string, Node> = { node: (answer) => answer() },
    assets: readonly string[] = [],
  ) {
    this.#id = id
    this.nodes = nodes
    this.reference = new ReferencePrices({ market, seed: 5, scenario })
    this.#answer = answerOf(id, this.reference, this.#kernel)
    const listen = sources[id]
    assert(listen !== undefined)
    const context = {
      assets: () => assets,
      onNotice: (notice: SourceNotice) => this.notices.push(notice),
    }
    listen({ urls: Object.keys(nodes) }, context, this.#runtime()).subscribe({
      next: (batch) => {
        expect(batch.length, 'no batch is empty').toBeGreaterThan(0)
        this.events.push(...batch)
      },
      error: (cause) => assert.fail(String(cause)),
      complete: () => assert.fail('a source never completes'),
    })
  }

  runUntil(afterMs: number): this {
    this.#kernel.runUntil(START_MS + afterMs)
    return this
  }

  of<Kind extends MarketEvent['kind']>(kind: Kind): Extract<MarketEvent, { kind: Kind }>[] {
    return this.events.filter(
      (event): event is Extract<MarketEvent, { kind: Kind }> => event.kind === kind,
    )
  }

  /** The newest event of every pool after the discovery. */
  get pools() {
    const pools = this.of('pool')
    const newestMs = pools.at(-1)?.timeReceivedMs
    return pools.filter(({ timeReceivedMs }) => timeReceivedMs === newestMs)
  }

  /** `state after seconds: reason`. */
  statesOf(source: SourceId): readonly string[] {
    return this.of('source-status').flatMap((event) => {
      if (event.source !== source) return []
      const afterSeconds = Math.round((event.timeReceivedMs - START_MS) / SECOND_MS)
      return [`${event.state} ${afterSeconds}${event.reason === '' ? '' : `: ${event.reason}`}`]
    })
  }

  #runtime(): ExternalRuntime {
    const machine = new Machine(this.#kernel, new Chance(1, this.#id))
    const { scheduler } = machine.process((cause) => assert.fail(String(cause)))
    return {
      scheduler,
      random: () => 0.5,
      connect: () => EMPTY,
      get: () => EMPTY,
      follow: () => EMPTY,
      post: (url, body) =>
        timer(LATENCY_MS, scheduler).pipe(
          map(() => {
            const { method } = body as { readonly method: string }
            this.asked.push({ url, method, atMs: this.#kernel.nowMs - START_MS })
            const isDead = this.reference.isDead(this.#id, this.#kernel.nowMs)
            const answer = (asked = body) => this.#answer(asked)
            return isDead ? 'dead' : (this.nodes[url]?.(answer, body) ?? 'dead')
          }),
          concatMap((reply) => {
            if (reply === 'silent') return NEVER
            if (reply === 'dead') return throwError(() => new OperatingError('refused', url))
            return of<HttpReply>({ status: 200, body: reply })
          }),
        ),
    }
  }
}

function answerOf(
  id: SourceId,
  reference: ReferencePrices,
  kernel: Kernel,
): (body: unknown) => string {
  const request = upstreams[id]?.(reference, kernel.clock).request
  assert(request !== undefined)
  return (body) => {
    const reply = request({
      method: 'POST',
      path: '/',
      query: new URLSearchParams(),
      headers: {},
      body: JSON.stringify(body),
    })
    assert(reply !== null && 'body' in reply)
    return reply.body
  }
}

describe.each(names)('%s', (chain) => {
  const run = new Run(chain).runUntil(2 * MINUTE_MS)
  const { reference, pools } = run

  test('is down at first, up with the first reply, and stays up', () => {
    expect(run.events[0]).toMatchObject({ kind: 'source-status', source: chain, state: 'down' })
    expect(run.statesOf(chain)).toEqual(['down 0: no reply received yet', 'up 0'])
    expect(run.notices).toEqual([])
  })

  test('has a pool of ETH, of BTC and of USDC against USDT', () => {
    expect(new Set(pools.map(({ asset }) => asset))).toEqual(new Set(['ETH', 'BTC', 'USDC']))
    for (const { asset, quote } of pools) if (asset === 'USDC') expect(quote).toBe('USDT')
  })

  test('pool prices match the reference price at the time of the block', () => {
    for (const pool of run.of('pool')) {
      const isRoute = pool.feeBps > 8 && pool.asset === 'BTC' && pool.chain !== 'ethereum'
      const truth = pool.timeExchangeMs
      const worth = reference.priceUsd(pool.asset, truth) ?? 0
      const quoteUsd = reference.priceUsd(pool.quote, truth) ?? 0
      // Block times are truncated to seconds, so the price may be up to a second newer.
      const offBps = Math.abs(Math.log((pool.price * quoteUsd) / worth)) / BPS
      expect(offBps, `${pool.asset}/${pool.quote}`).toBeLessThan(isRoute ? 12 : 8)
      expect((pool.twapPrice ?? pool.price) / pool.price).toBeCloseTo(1, 2)
      expect(pool.balanceQuote).toBeGreaterThan(100_000)
      expect(pool.reserveQuote).toBeGreaterThan(pool.balanceQuote)
    }
  })

  test('is read every ten seconds: one call and the gas price', () => {
    const calls = run.asked.filter(({ method }) => method === 'eth_call')
    const gas = run.asked.filter(({ method }) => method === 'eth_gasPrice')
    expect(gas.length).toBeGreaterThanOrEqual(12)
    expect(gas.length).toBeLessThanOrEqual(14)
    expect(calls.length, 'two more of the discovery').toBe(gas.length + 2)
  })

  test('block numbers and block times match the chain', () => {
    const { chainId, blockMs } = simulatedChains.find((one) => one.chain === chain) ?? {}
    assert(blockMs !== undefined && chainId !== undefined)
    const states = run.of('chain')
    for (const { timeExchangeMs, timeReceivedMs } of states)
      expect(timeReceivedMs - timeExchangeMs).toBeLessThan(blockMs + SECOND_MS + 3 * LATENCY_MS)
    const [first, last] = [states[0], states.at(-1)]
    assert(first !== undefined && last !== undefined)
    const blocks = (last.timeExchangeMs - first.timeExchangeMs) / blockMs
    expect(Math.abs(last.blockNumber - first.blockNumber - blocks)).toBeLessThan(5)
  })

  test('unchanged Chainlink rounds are emitted again with the time of the round', () => {
    const prices = run.of('oracle-price')
    expect(prices.length).toBeGreaterThan(40)
    for (const price of prices) {
      expect(price).toMatchObject({ network: 'chainlink', place: chain, ema: null })
      const seen = reference.seenUsd('chainlink', price.asset, price.timeExchangeMs) ?? 0
      expect(price.priceUsd).toBeCloseTo(seen, 7)
    }
  })
})

describe('discovery', () => {
  test('the first round reads the initial pools, later rounds the deepest ones', () => {
    const run = new Run('ethereum').runUntil(2 * SECOND_MS)
    const wbtc = '0x9a772018FbD77fcD2d25657e5C547BAfF3Fd7D16'
    expect(run.pools.map(({ pool }) => pool)).toContain(wbtc)
    run.runUntil(MINUTE_MS)
    const [btc] = run.pools.filter(({ asset, quote }) => asset === 'BTC' && quote === 'USDC')
    expect(btc).toMatchObject({ feeBps: 30, balanceQuote: 20e6 })
    expect(btc?.pool).not.toBe(wbtc)
    expect(run.pools).toHaveLength(5)
  })

  test('is repeated every hour', () => {
    const run = new Run('polygon').runUntil(HOUR_MS + MINUTE_MS)
    const calls = run.asked.filter(({ method }) => method === 'eth_call').length
    const rounds = run.asked.filter(({ method }) => method === 'eth_gasPrice').length
    expect(calls - rounds).toBe(2 * 2)
  })

  test('that fails keeps the initial pools and is retried', () => {
    const config = evmChains.find(({ chain }) => chain === 'bsc')
    assert(config !== undefined)
    const data = JSON.stringify(poolSearch(config).params)
    const run = new Run('bsc', [], {
      node: (answer, body) => (JSON.stringify(body).includes(data) ? '{}' : answer()),
    }).runUntil(5 * MINUTE_MS)
    expect(run.notices.filter(({ kind }) => kind === 'discovery_failed').length).toBeGreaterThan(3)
    expect(run.pools.map(({ pool }) => pool)).toEqual(
      config.initialPools.map(({ address }) => address),
    )
    expect(run.statesOf('bsc').at(-1)).toBe('up 0')
  })

  test('a chain where BTC trades against ETH emits the route through both pools', () => {
    const { pools } = new Run('optimism').runUntil(MINUTE_MS)
    const [eth, btc] = ['ETH', 'BTC'].map((asset) => pools.find((pool) => pool.asset === asset))
    assert(eth !== undefined && btc !== undefined)
    expect(btc).toMatchObject({ quote: 'USDC', representation: 'WBTC', feeBps: eth.feeBps + 5 })
    expect(btc.balanceQuote).toBeCloseTo(600 * eth.price, 3)
    expect(btc.reserveQuote).toBeLessThan(eth.reserveQuote)
    expect(btc.blockNumber).toBe(eth.blockNumber)
  })

  test('a shallow pool has its balance and no TWAP', () => {
    const { pools } = new Run('base').runUntil(MINUTE_MS)
    const usdc = pools.find(({ asset }) => asset === 'USDC')
    expect(usdc).toMatchObject({ balanceQuote: 180_000, twapPrice: null, feeBps: 1 })
    expect(usdc?.dex, 'the deeper of two').toBe('aerodrome-slipstream')
  })
})

describe('scheduled events', () => {
  const during = { fromMs: START_MS + MINUTE_MS, untilMs: START_MS + 5 * MINUTE_MS }
  const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length
  const offBps = (run: Run, asset: string, fromMs: number, untilMs: number) =>
    mean(
      run
        .of('pool')
        .filter((pool) => pool.asset === asset)
        .filter(({ timeReceivedMs: at }) => at >= START_MS + fromMs && at < START_MS + untilMs)
        .map(({ price, quote, timeExchangeMs: at }) => {
          const [worth, quoteUsd] = [
            run.reference.priceUsd(asset, at),
            run.reference.priceUsd(quote, at),
          ]
          return Math.log((price * (quoteUsd ?? 0)) / (worth ?? 0)) / BPS
        }),
    )

  test('a gap changes the pools of its chain and asset only', () => {
    const gap = { kind: 'gap', chain: 'arbitrum', asset: 'ETH', bps: 80, ...during } as const
    const run = new Run('arbitrum', [gap]).runUntil(4 * MINUTE_MS)
    expect(Math.abs(offBps(run, 'ETH', 0, MINUTE_MS))).toBeLessThan(3)
    expect(offBps(run, 'ETH', MINUTE_MS + 5_000, 4 * MINUTE_MS)).toBeCloseTo(80, -1)
    expect(Math.abs(offBps(run, 'BTC', MINUTE_MS, 4 * MINUTE_MS))).toBeLessThan(3)
  })

  test('a depeg of USDC changes pool prices at once and Chainlink within 30 seconds', () => {
    const depeg = { kind: 'depeg', asset: 'USDC', bps: -500, ...during } as const
    const run = new Run('ethereum', [depeg]).runUntil(4 * MINUTE_MS)
    const usdc = run.pools.find(({ asset }) => asset === 'USDC')
    expect(usdc?.price).toBeCloseTo(0.95, 3)
    const rounds = run.of('oracle-price').filter(({ asset }) => asset === 'USDC')
    expect(rounds[0]?.priceUsd).toBeCloseTo(1, 3)
    expect(rounds.at(-1)?.priceUsd).toBeCloseTo(0.95, 3)
    expect(rounds.at(-1)?.timeExchangeMs).toBeLessThan(during.fromMs + 30_000)
  })

  test('a chain without new blocks is degraded and keeps the old block time', () => {
    const run = new Run('base', [{ kind: 'stalled', source: 'base', ...during }])
    run.runUntil(4 * MINUTE_MS)
    expect(run.statesOf('base').slice(1)).toEqual([
      'up 0',
      expect.stringMatching(/^degraded .*no new blocks$/),
    ])
    const last = run.of('chain').at(-1)
    expect(last?.timeExchangeMs).toBe(during.fromMs)
    expect(run.of('oracle-price').at(-1)?.timeReceivedMs, 'not read since').toBe(during.fromMs)
    run.runUntil(7 * MINUTE_MS)
    expect(run.statesOf('base').at(-1)).toMatch(/^up /)
  })

  test.each([
    { source: 'ethereum', oracle: 'chainlink' },
    { source: 'solana', oracle: 'pyth-solana' },
    { source: 'pyth-evm', oracle: 'pyth-evm' },
  ] as const)(
    'without new blocks $oracle on $source is degraded and confirms nothing',
    ({ source, oracle }) => {
      const run = new Run(source, [{ kind: 'stalled', source, ...during }])
      run.runUntil(4 * MINUTE_MS)
      expect(run.statesOf(oracle).at(-1)).toMatch(/^degraded .*no new blocks/)
      const readMs = run.of('oracle-price').at(-1)?.timeReceivedMs
      expect(readMs).toBeGreaterThan(during.fromMs - 13 * SECOND_MS)
      expect(readMs).toBeLessThanOrEqual(during.fromMs)
    },
  )

  test('a chain without nodes is down, retried with growing pauses, and recovers', () => {
    const run = new Run('ethereum', [{ kind: 'dead', source: 'ethereum', ...during }])
    run.runUntil(5 * MINUTE_MS)
    expect(run.statesOf('ethereum').at(-1)).toMatch(/^down 6\d: /)
    expect(run.statesOf('chainlink').map((text) => text.split(' ')[0])).toEqual([
      'down',
      'up',
      'down',
    ])
    const asked = run.asked.filter(({ atMs }) => atMs > MINUTE_MS + 5_000)
    expect(asked.length).toBeLessThan(20)
    run.runUntil(7 * MINUTE_MS)
    expect(run.statesOf('ethereum').at(-1)).toMatch(/^up /)
    expect(run.statesOf('chainlink').at(-1)).toMatch(/^up /)
  })

  test('a crash multiplies the gas price', () => {
    const run = new Run('polygon', [{ kind: 'crash', factor: 20, ...during }])
    run.runUntil(2 * MINUTE_MS)
    const costs = run.of('chain').map(({ swapGasNative }) => swapGasNative)
    const ratio = (costs.at(-1) ?? 0) / (costs[0] ?? 1)
    expect(ratio).toBeGreaterThan(15)
    expect(ratio).toBeLessThan(25)
  })

  test('a frozen chain has new blocks with old prices', () => {
    const run = new Run('bsc', [{ kind: 'frozen', source: 'bsc', ...during }])
    run.runUntil(4 * MINUTE_MS)
    const pools = run.of('pool').filter(({ timeExchangeMs: at }) => at > during.fromMs)
    const prices = new Set(pools.filter(({ asset }) => asset === 'ETH').map(({ price }) => price))
    expect(pools.length).toBeGreaterThan(10)
    expect(prices.size).toBe(1)
  })

  test('without Chainlink the chain stays up', () => {
    const dead = { kind: 'dead', source: 'chainlink', ...during } as const
    const run = new Run('ethereum', [dead]).runUntil(4 * MINUTE_MS)
    expect(run.statesOf('ethereum')).toHaveLength(2)
    expect(run.statesOf('chainlink').at(-1)).toMatch(/^down .*: 5 of 5 feeds missing$/)
  })
})

describe('faulty nodes', () => {
  const other = (answer: () => string) => answer()
  const patched = (patch: (result: string) => string) => (answer: () => string) => {
    const reply = JSON.parse(answer())
    return JSON.stringify({ ...reply, result: patch(reply.result) })
  }

  test('a node of another chain is not used and not asked again for an hour', () => {
    const foreign = new Kernel(START_MS)
    const reference = new ReferencePrices({ market, seed: 5 })
    const answerForeign = answerOf('polygon', reference, foreign)
    const run = new Run('arbitrum', [], {
      foreign: (_, body) => answerForeign(body),
      right: other,
    }).runUntil(10 * MINUTE_MS)
    expect(run.statesOf('arbitrum').at(-1)).toBe('up 0')
    expect(run.asked.filter(({ url }) => url === 'foreign')).toHaveLength(1)
    expect(run.notices).toMatchObject([{ kind: 'node_failed', detail: ': serves chain 137' }])
  })

  test('a node that is stuck at a block is skipped', () => {
    const stuck: Record<string, string> = {}
    const run = new Run('optimism', [], {
      stuck: (answer, body) => {
        const key = JSON.stringify({ ...(body as object), id: 0 })
        stuck[key] ??= answer()
        const reply = JSON.parse(stuck[key])
        return JSON.stringify({ ...reply, id: (body as { id: number }).id })
      },
      right: other,
    }).runUntil(5 * MINUTE_MS)
    expect(run.statesOf('optimism')).toEqual(['down 0: no reply received yet', 'up 0'])
    const ages = run.of('chain').map((event) => event.timeReceivedMs - event.timeExchangeMs)
    expect(Math.max(...ages)).toBeLessThanOrEqual(41 * SECOND_MS)
    const blocks = run.of('chain').map(({ blockNumber }) => blockNumber)
    expect(blocks).toEqual(blocks.toSorted((a, b) => a - b))
  })

  test('a node that is behind another node is skipped', () => {
    let isFirst = true
    const behindMs = 20_000
    const old = new Kernel(START_MS - behindMs)
    const answerOld = answerOf('base', new ReferencePrices({ market, seed: 5 }), old)
    const run = new Run('base', [], {
      lame: (answer, body) => {
        const reply = isFirst ? answer() : answerOld(body)
        if ((body as { method: string }).method === 'eth_gasPrice') isFirst = false
        return reply
      },
      right: other,
    }).runUntil(30 * SECOND_MS)
    expect(run.notices.some(({ detail }) => detail.endsWith('it is behind another node'))).toBe(
      true,
    )
    for (const { timeReceivedMs, timeExchangeMs } of run.of('chain'))
      expect(timeReceivedMs - timeExchangeMs).toBeLessThan(4 * SECOND_MS)
  })

  test('a node that does not reply costs four seconds, not the round', () => {
    const run = new Run('bsc', [], { mute: () => 'silent', right: other }).runUntil(MINUTE_MS)
    expect(run.statesOf('bsc')).toEqual(['down 0: no reply received yet', 'up 4'])
  })

  test('without a gas price pools are emitted and the chain state is not', () => {
    const run = new Run('base', [], {
      node: (answer, body) =>
        (body as { method: string }).method === 'eth_gasPrice' ? '{"error":{}}' : answer(),
    }).runUntil(MINUTE_MS)
    expect(run.of('chain')).toEqual([])
    expect(run.pools.length).toBeGreaterThan(2)
    expect(run.statesOf('base').at(-1)).toBe('degraded 0: no gas price')
  })

  test('a truncated reply is not used', () => {
    const node = patched((result) => (result.length > 200 ? result.slice(0, -64) : result))
    const run = new Run('base', [], { node }).runUntil(MINUTE_MS)
    expect(run.of('pool')).toEqual([])
    expect(run.statesOf('base')).toEqual([
      'down 0: no reply received yet',
      expect.stringMatching(/^down 0: no node answered; /),
    ])
  })
})

describe('pyth-evm', () => {
  test('emits every feed with average and confidence, from the newer contract', () => {
    const run = new Run('pyth-evm').runUntil(5 * MINUTE_MS)
    expect(run.statesOf('pyth-evm')).toEqual(['down 0: no reply received yet', 'up 0'])
    const prices = run.of('oracle-price')
    expect(new Set(prices.map(({ asset }) => asset)).size).toBe(pythFeeds.length)
    for (const { asset, priceUsd, timeExchangeMs: at, ...price } of prices) {
      const seen = run.reference.seenUsd('pyth-evm', asset, at) ?? 0
      expect(priceUsd / seen).toBeCloseTo(1, 5)
      const now =
        run.reference.priceUsd(asset, Math.floor(price.timeReceivedMs / 60_000) * 60_000) ?? 0
      expect(Math.abs(priceUsd / now - 1)).toBeLessThan((price.resolutionBps + 40) * BPS)
      expect((price.ema?.priceUsd ?? 0) / priceUsd).toBeCloseTo(1, 1)
      expect(price.confidenceUsd).toBeGreaterThan(0)
      expect(price.confidenceUsd).toBeLessThan(priceUsd * 10 * BPS)
      expect(price).toMatchObject({ network: 'pyth-evm', place: 'monad', heartbeatMs: HOUR_MS })
    }
    const newest = Math.max(...prices.map(({ timeExchangeMs }) => timeExchangeMs))
    expect(START_MS + 5 * MINUTE_MS - newest, 'only the twin is that fresh').toBeLessThan(MINUTE_MS)
  })

  test.each([
    { listed: 4, missing: 2, states: ['up 0'] },
    { listed: 4, missing: 3, states: ['degraded 0: 3 of 4 feeds missing'] },
    { listed: 1, missing: 1, states: ['degraded 0: 1 of 1 feeds missing'] },
    { listed: 0, missing: pythFeeds.length - 1, states: ['up 0'] },
  ])('without $missing feeds, of $listed that are listed, is $states', (row) => {
    const hidden = pythFeeds.slice(0, row.missing).map(({ id }) => id.slice(2))
    // No contract has such a feed.
    const unknown = 'f'.repeat(64)
    const node: Node = (answer, body) =>
      answer(
        JSON.parse(hidden.reduce((text, id) => text.replaceAll(id, unknown), JSON.stringify(body))),
      )
    const assets = pythFeeds.slice(0, row.listed).map(({ asset }) => asset)
    const run = new Run('pyth-evm', [], { node }, assets).runUntil(MINUTE_MS)
    expect(run.statesOf('pyth-evm').slice(1)).toEqual(row.states)
    expect(new Set(run.of('oracle-price').map(({ asset }) => asset)).size).toBe(
      pythFeeds.length - row.missing,
    )
  })

  test('reports a wide confidence, and down if no feed is left', () => {
    const during = { fromMs: START_MS + MINUTE_MS, untilMs: START_MS + HOUR_MS }
    const run = new Run('pyth-evm', [
      { kind: 'confidence', network: 'pyth-evm', factor: 40, ...during },
      { kind: 'dead', source: 'pyth-evm', ...during, fromMs: START_MS + 8 * MINUTE_MS },
    ]).runUntil(9 * MINUTE_MS)
    const btc = run
      .of('oracle-price')
      .filter(({ asset }) => asset === 'BTC')
      .at(-1)
    assert(btc !== undefined)
    expect((btc.confidenceUsd ?? 0) / btc.priceUsd / BPS).toBeCloseTo(100, 1)
    expect(run.statesOf('pyth-evm').at(-1)).toMatch(/^down /)
  })
})

describe('bytes that are mutated', () => {
  const replyOf = (id: SourceId, params: readonly unknown[]): Hex => {
    const answer = answerOf(id, new ReferencePrices({ market, seed: 5 }), new Kernel(START_MS))
    const { result } = JSON.parse(answer({ jsonrpc: '2.0', id: 1, method: 'eth_call', params }))
    return result
  }
  const config = evmChains.find(({ chain }) => chain === 'optimism')
  assert(config !== undefined)
  const query = chainQuery(config, config.initialPools)
  const pyth = pythQuery()
  const replies = {
    chain: replyOf('optimism', query.params),
    pyth: replyOf('pyth-evm', pyth.params),
  }
  const mutations = fc.array(
    fc.record({
      at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      word: fc.oneof(
        fc.constantFrom('00'.repeat(32), 'ff'.repeat(32), `80${'00'.repeat(31)}`),
        fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }).map((n) => n.toString(16).padStart(64, '0')),
        fc.integer({ min: 0, max: 255 }).map((byte) => byte.toString(16).padStart(2, '0')),
      ),
    }),
    { minLength: 1, maxLength: 12 },
  )
  const mutated = (
    hex: Hex,
    changes: readonly { at: number; word: string }[],
    cut: number,
  ): Hex => {
    let text: string = hex.slice(2)
    for (const { at, word } of changes) {
      const size = word.length
      const index = Math.floor((at * text.length) / size) * size
      text = text.slice(0, index) + word + text.slice(index + size)
    }
    return `0x${text.slice(0, text.length - 2 * cut)}`
  }
  const positive = (...values: readonly (number | null)[]) => {
    for (const value of values) {
      if (value === null) continue
      expect(value).toBeGreaterThan(0)
      expect(value).toBeLessThan(Number.POSITIVE_INFINITY)
    }
  }
  const cuts = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 40 }))

  property.prop([mutations, cuts], { numRuns: 400 })(
    'a chain query gives plausible prices or none, and never throws',
    (changes, cut) => {
      const decoded = query.decode(mutated(replies.chain, changes, cut))
      if (decoded.quality === 'invalid') return
      const refused = () => {}
      for (const pool of poolEvents('optimism', decoded.value, START_MS, refused)) {
        positive(pool.price, pool.twapPrice, pool.reserveQuote)
        expect(pool.feeBps).toBeGreaterThanOrEqual(0)
        expect(Number.isFinite(pool.balanceQuote)).toBe(true)
      }
      for (const price of chainlinkEvents('optimism', decoded.value, START_MS, refused)) {
        positive(price.priceUsd, price.timeExchangeMs)
        expect(price.timeExchangeMs).toBeLessThanOrEqual(START_MS + 10 * SECOND_MS)
      }
    },
  )

  property.prop([mutations, cuts], { numRuns: 200 })(
    'a Pyth query gives plausible prices or none, and never throws',
    (changes, cut) => {
      const decoded = pyth.decode(mutated(replies.pyth, changes, cut))
      if (decoded.quality === 'invalid') return
      for (const price of pythEvents(decoded.value, START_MS, () => {})) {
        positive(price.priceUsd, price.timeExchangeMs, price.ema?.priceUsd ?? null)
        expect(price.confidenceUsd).toBeLessThan(price.priceUsd)
        expect(price.timeExchangeMs).toBeLessThanOrEqual(START_MS + 10 * SECOND_MS)
      }
    },
  )
})

test('every chain but Solana has an EVM configuration', () => {
  expect(new Set<EvmChainName | 'solana'>([...names, 'solana'])).toEqual(new Set(chains))
})
