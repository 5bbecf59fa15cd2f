import assert from 'node:assert/strict'
import type { Server } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Connection, PublicKey } from '@solana/web3.js'
import { concatMap, EMPTY, map, NEVER, of, throwError, timer } from 'rxjs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { OperatingError } from '../src/domain/errors.ts'
import type { MarketEvent } from '../src/domain/event.ts'
import type { SourceId } from '../src/domain/external.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import { systemRuntime } from '../src/roles/system-runtime.ts'
import { ReferencePrices } from '../src/simulator/external/reference-prices.ts'
import type { ScenarioEvent } from '../src/simulator/external/scenario.ts'
import { SimulatedSources } from '../src/simulator/external/simulated-sources.ts'
import { solanaNode } from '../src/simulator/external/solana/solana-node.ts'
import { SLOT_MS } from '../src/simulator/external/solana/solana-rpc.ts'
import { seededMarket } from '../src/simulator/market/seeded-market.ts'
import { solanaSource } from '../src/streams/external/solana/solana.ts'
import type { SourceNotice } from '../src/streams/external/source.ts'
import type { ExternalRuntime, HttpReply } from '../src/streams/runtime.ts'
import { Chance } from './simulation/chance.ts'
import { Kernel } from './simulation/kernel.ts'
import { Machine } from './simulation/machine.ts'
import { rememberedMarket } from './support/remembered-market.ts'
import { until } from './support/service.ts'

/** Our Solana adapter at the simulated node, in virtual time and over real sockets. */

const START_MS = Date.UTC(2026, 9, 7, 15, 7)
const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const LATENCY_MS = 40
const BPS = 1e-4
const SEED = 5
const market = rememberedMarket({ seed: SEED, startMs: START_MS })
const SOL_USDC = 'Czfq3xZZDmsdGdUyrNLtRhGc47cXcZtLG4crryfu44zE'
const PYTH_SOL = '7AviUf9nL62mcxNbQGKm4nKDQnPjswo6c5MX4D57HmyE'

/** Reply of a node: the simulated answer or a fault. */
type Node = (
  answer: () => string,
  keys: readonly string[],
  nowMs: number,
  id: number,
) => string | HttpReply | 'dead' | 'silent'

type Asked = { readonly url: string; readonly keys: readonly string[]; readonly atMs: number }

class Run {
  readonly events: MarketEvent[] = []
  readonly notices: SourceNotice[] = []
  readonly asked: Asked[] = []
  readonly reference: ReferencePrices
  readonly #kernel = new Kernel(START_MS)
  readonly #nodes: Record<string, Node>
  readonly #answer: (body: unknown) => string

  constructor(
    scenario: readonly ScenarioEvent[] = [],
    nodes: Record<string, Node> = { node: right },
  ) {
    this.#nodes = nodes
    this.reference = new ReferencePrices({ market, seed: SEED, scenario })
    this.#answer = answerOf(this.reference, this.#kernel)
    const onNotice = (notice: SourceNotice) => this.notices.push(notice)
    const context = { assets: () => [], onNotice }
    solanaSource({ urls: Object.keys(nodes) }, context, this.#runtime()).subscribe({
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

  /** `state after seconds: reason`. */
  statesOf(source: SourceId): readonly string[] {
    return this.of('source-status').flatMap((event) => {
      if (event.source !== source) return []
      const afterSeconds = Math.round((event.timeReceivedMs - START_MS) / SECOND_MS)
      return [`${event.state} ${afterSeconds}${event.reason === '' ? '' : `: ${event.reason}`}`]
    })
  }

  #runtime(): ExternalRuntime {
    const machine = new Machine(this.#kernel, new Chance(1, 'solana'))
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
            const { nowMs } = this.#kernel
            const { id, params } = body as { id: number; params: [string[]] }
            const [keys] = params
            this.asked.push({ url, keys, atMs: nowMs - START_MS })
            if (this.reference.isDead('solana', nowMs)) return 'dead'
            return this.#nodes[url]?.(() => this.#answer(body), keys, nowMs, id) ?? 'dead'
          }),
          concatMap((reply) => {
            if (reply === 'silent') return NEVER
            if (reply === 'dead') return throwError(() => new OperatingError('refused', url))
            return of(typeof reply === 'string' ? { status: 200, body: reply } : reply)
          }),
        ),
    }
  }
}

function right(answer: () => string): string {
  return answer()
}

function answerOf(reference: ReferencePrices, kernel: Kernel): (body: unknown) => string {
  const { request } = solanaNode(reference, kernel.clock)
  assert(request !== undefined)
  const asked = { method: 'POST', path: '/', query: new URLSearchParams(), headers: {} }
  return (body) => {
    const reply = request({ ...asked, body: JSON.stringify(body) })
    assert(reply !== null && 'body' in reply)
    return reply.body
  }
}

describe('solana', () => {
  const run = new Run().runUntil(3 * MINUTE_MS)

  test('is down at first, up with the first reply, and stays up', () => {
    expect(run.statesOf('solana')).toEqual(['down 0: no reply received yet', 'up 0'])
    expect(run.statesOf('pyth-solana')).toEqual(['down 0: no reply received yet', 'up 0'])
    expect(run.events.slice(0, 2).map(({ kind }) => kind)).toEqual([
      'source-status',
      'source-status',
    ])
    expect(run.notices).toEqual([])
  })

  test('is read once every ten seconds, and twice for the discovery', () => {
    expect(run.asked.length).toBeGreaterThanOrEqual(2 + 18)
    expect(run.asked.length).toBeLessThanOrEqual(2 + 20)
    for (const { keys } of run.asked) expect(keys.length).toBeLessThanOrEqual(100)
  })

  test('emits the deepest pool of each pair', () => {
    const last = run.of('pool').slice(-4)
    expect(
      last.map(({ asset, quote, feeBps, balanceQuote }) => [asset, quote, feeBps, balanceQuote]),
    ).toEqual([
      ['ETH', 'USDC', 5, 1.2e6],
      ['BTC', 'USDC', 5, 3.1e6],
      ['SOL', 'USDC', 4, 14e6],
      ['USDC', 'USDT', 1, 1.6e6],
    ])
    expect(last.map(({ pool }) => pool)).toContain(SOL_USDC)
    for (const [at, reserve] of [40e6, 90e6, 300e6, 4e9].entries())
      expect((last[at]?.reserveQuote ?? 0) / reserve).toBeCloseTo(1, 9)
  })

  test('pool prices match the reference price at the time of the block', () => {
    for (const { asset, quote, price, timeExchangeMs } of run.of('pool')) {
      const [usd, quoteUsd] = [asset, quote].map((of) => run.reference.priceUsd(of, timeExchangeMs))
      assert(usd !== undefined && quoteUsd !== undefined)
      // Two noise draws of 0.8 bps each, and block times truncated to seconds.
      expect(Math.abs(Math.log(price / (usd / quoteUsd))) / BPS, asset).toBeLessThan(8)
    }
  })

  test('has the block time, at most a second and the latency old', () => {
    const states = run.of('chain')
    expect(states.length).toBeGreaterThanOrEqual(18)
    for (const { timeExchangeMs, timeReceivedMs, blockNumber } of states) {
      expect(timeReceivedMs - timeExchangeMs).toBeLessThan(SECOND_MS + 400 + LATENCY_MS)
      expect(blockNumber).toBe(Math.floor((timeReceivedMs - Date.UTC(2020, 2, 16)) / 400))
    }
    expect(states[0]).toMatchObject({ native: 'SOL', swapGasNative: 0.000015 })
  })

  test('emits every feed of Pyth within its heartbeat and its threshold', () => {
    const prices = run.of('oracle-price')
    const last = prices.slice(-15)
    expect(new Set(last.map(({ asset }) => asset)).size).toBe(15)
    for (const price of prices) {
      const { asset, priceUsd, confidenceUsd, ema, timeExchangeMs, timeReceivedMs } = price
      expect(price).toMatchObject({ network: 'pyth-solana', place: '', resolutionBps: 50 })
      expect(timeReceivedMs - timeExchangeMs).toBeLessThanOrEqual(60_000 + 2 * SECOND_MS)
      const published = run.reference.seenUsd('pyth-solana', asset, timeExchangeMs) ?? Number.NaN
      expect(priceUsd / published, asset).toBeCloseTo(1, 3)
      const now = run.reference.seenUsd('pyth-solana', asset, timeReceivedMs) ?? Number.NaN
      // The pusher checks the price every five seconds.
      expect(Math.abs(priceUsd / now - 1), asset).toBeLessThan(60 * BPS)
      const isStable = asset.startsWith('USD')
      expect((confidenceUsd ?? 0) / priceUsd / BPS).toBeCloseTo(isStable ? 1.25 : 2.5, 1)
      expect(Math.abs((ema?.priceUsd ?? 0) / priceUsd - 1), asset).toBeLessThan(0.05)
    }
  })
})

describe('scheduled events', () => {
  const during = { fromMs: START_MS + MINUTE_MS, untilMs: START_MS + 8 * MINUTE_MS }

  test('a depeg changes the pool of the two stablecoins and the oracle', () => {
    const run = new Run([{ kind: 'depeg', asset: 'USDC', bps: -500, ...during }]).runUntil(
      3 * MINUTE_MS,
    )
    const pools = run.of('pool').filter(({ asset }) => asset === 'USDC')
    expect(pools.at(-1)?.price).toBeCloseTo(0.95, 2)
    const prices = run.of('oracle-price').filter(({ asset }) => asset === 'USDC')
    expect(prices.at(-1)?.priceUsd).toBeCloseTo(0.95, 2)
    const first = prices.find(({ priceUsd }) => priceUsd < 0.97)
    expect(first?.timeExchangeMs, 'pushed at once').toBeLessThanOrEqual(during.fromMs + 5_000)
  })

  test('a gap changes the pools of its asset only', () => {
    const gap = { kind: 'gap', chain: 'solana', asset: 'ETH', bps: 80, ...during } as const
    const run = new Run([gap]).runUntil(2 * MINUTE_MS)
    const offBps = ['ETH', 'BTC'].map((of) => {
      const { price, timeExchangeMs } = run.of('pool').findLast(({ asset }) => asset === of) ?? {}
      const worth = run.reference.priceUsd(of, timeExchangeMs ?? 0) ?? 0
      return (
        Math.log(
          (price ?? 0) / (worth / (run.reference.priceUsd('USDC', timeExchangeMs ?? 0) ?? 0)),
        ) / BPS
      )
    })
    expect(offBps[0]).toBeGreaterThan(70)
    expect(Math.abs(offBps[1] ?? Number.NaN)).toBeLessThan(10)
  })

  test('a chain without new blocks is degraded, keeps the block time, and recovers', () => {
    const run = new Run([{ kind: 'stalled', source: 'solana', ...during }]).runUntil(5 * MINUTE_MS)
    expect(run.statesOf('solana').at(-1)).toMatch(/^degraded \d+: no new blocks$/)
    expect(run.statesOf('pyth-solana').at(-1)).toMatch(/^degraded/)
    const newest = run.of('pool').at(-1)
    expect(newest?.timeExchangeMs).toBeLessThanOrEqual(during.fromMs)
    run.runUntil(10 * MINUTE_MS)
    expect(run.statesOf('solana').at(-1)).toMatch(/^up 4[89]\d/)
  })

  test('an oracle without publications is degraded after five heartbeats; the chain is up', () => {
    const run = new Run([{ kind: 'stalled', source: 'pyth-solana', ...during }]).runUntil(
      8 * MINUTE_MS,
    )
    expect(run.statesOf('pyth-solana').at(-1)).toMatch(
      /^degraded 3[56]\d: no feed was published for 300 s$/,
    )
    expect(run.statesOf('solana')).toHaveLength(2)
  })

  test('without price accounts the oracle is down and the chain up', () => {
    const run = new Run([{ kind: 'dead', source: 'pyth-solana', ...during }]).runUntil(
      2 * MINUTE_MS,
    )
    expect(run.statesOf('pyth-solana').at(-1)).toMatch(/^down 6\d: no feed has a plausible price$/)
    expect(run.statesOf('solana')).toHaveLength(2)
  })

  test('a dead chain is down and retried with growing pauses', () => {
    const run = new Run([{ kind: 'dead', source: 'solana', ...during }]).runUntil(8 * MINUTE_MS)
    expect(run.statesOf('solana').at(-1)).toMatch(/^down 6\d: /)
    const asked = run.asked.filter(({ atMs }) => atMs > MINUTE_MS)
    expect(asked.length).toBeLessThan(25)
    run.runUntil(10 * MINUTE_MS)
    expect(run.statesOf('solana').at(-1)).toMatch(/^up/)
  })
})

describe('nodes', () => {
  test('the second node is used for every fault of the first', () => {
    for (const first of wrong) {
      const run = new Run([], { first, second: right }).runUntil(MINUTE_MS)
      expect(run.statesOf('solana').at(-1), String(first)).toMatch(/^up \d+$/)
      expect(run.of('pool').length, String(first)).toBeGreaterThan(8)
      expect(run.notices.some(({ kind }) => kind === 'node_failed')).toBe(true)
    }
  })

  test('a single faulty node gives no events but the status', () => {
    for (const node of wrong) {
      const run = new Run([], { node }).runUntil(2 * MINUTE_MS)
      expect(run.statesOf('solana'), String(node)).toEqual([
        'down 0: no reply received yet',
        expect.stringMatching(/^down 0: no node answered; /),
      ])
      expect(run.events.every(({ kind }) => kind === 'source-status')).toBe(true)
    }
  })

  test('of two nodes the one with old blocks is skipped', () => {
    const late = new Kernel(START_MS - 45 * SECOND_MS)
    const answerLate = answerOf(new ReferencePrices({ market, seed: SEED }), late)
    const behind: Node = (_answer, keys) => {
      const params = [keys, { encoding: 'base64', commitment: 'confirmed' }]
      return answerLate({ id: 1, jsonrpc: '2.0', method: 'getMultipleAccounts', params })
    }
    const run = new Run([], { behind, right }).runUntil(MINUTE_MS)
    for (const { timeReceivedMs, timeExchangeMs } of run.of('chain'))
      expect(timeReceivedMs - timeExchangeMs).toBeLessThan(2 * SECOND_MS)
  })

  test('a node that returns null accounts gives no pools', () => {
    const run = new Run([], { node: (answer) => answer().replaceAll(/"whirL\w+"/g, '"X"') })
    run.runUntil(2 * MINUTE_MS)
    expect(run.of('pool')).toEqual([])
    expect(run.statesOf('solana').at(-1)).toBe('degraded 0: no pool has a plausible price')
    expect(run.statesOf('pyth-solana').at(-1)).toBe('up 0')
  })

  test('the discovery is repeated every hour', () => {
    expect(discoveriesOf(new Run([], { unmoved: unmoved() }).runUntil(2 * HOUR_MS))).toBe(2)
  })

  test('the discovery is repeated every minute while a pair has no pool', () => {
    const usdtPools = [
      '4fuUiYxTQ6QCrdSq9ouBYcTM7bqSwYTSyLueGZLTy4T4',
      'CxF3jKhGrauHQjFk8L5XUkLTjmeLFqHUYHLCYYSautMC',
    ]
    const without: Node = (answer, keys) => {
      const reply = JSON.parse(answer())
      for (const pool of usdtPools)
        if (keys.includes(pool)) reply.result.value[keys.indexOf(pool)] = null
      return JSON.stringify(reply)
    }
    const run = new Run([], { without }).runUntil(5 * MINUTE_MS)
    expect(discoveriesOf(run)).toBe(5)
    const pools = run.of('pool').slice(-3)
    expect(pools.map(({ asset }) => asset)).toEqual(['ETH', 'BTC', 'SOL'])
  })
})

function discoveriesOf({ asked }: Run): number {
  return asked.filter(({ keys }) => keys.length === 28).length
}

/** A node whose time advances without other changes. */
function unmoved(): Node {
  const answers = new Map<string, string>()
  return (answer, keys, nowMs, id) => {
    const question = keys.join()
    const known = answers.get(question) ?? answer()
    answers.set(question, known)
    const reply = JSON.parse(known)
    if (keys.length !== 28 && reply.result.value[0].space === 40)
      setClock(reply.result.value[0], nowMs)
    return JSON.stringify({ ...reply, id })
  }
}

function setClock(account: { data: [string, string] }, timeMs: number): void {
  const clock = Buffer.from(account.data[0], 'base64')
  clock.writeBigInt64LE(BigInt(Math.floor(timeMs / 1_000)), 32)
  account.data[0] = clock.toString('base64')
}

const wrong: readonly Node[] = [
  () => 'dead',
  () => 'silent',
  () => '<html>',
  () => '[]',
  () => ({
    status: 429,
    body: '{"jsonrpc":"2.0","error":{"code":429,"message":"Too many requests"}}',
  }),
  () =>
    JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code: -32005, message: 'Node is behind' } }),
  (answer) => answer().replace(/"id":\d+/, '"id":-1'),
  // A time one day in the future.
  (answer) => {
    const reply = JSON.parse(answer())
    if (reply.result.value[0]?.space === 40)
      setClock(reply.result.value[0], START_MS + 24 * HOUR_MS)
    return JSON.stringify(reply)
  },
]

describe('over loopback', () => {
  let server: Server
  let sources: SimulatedSources
  let url: string
  let reference: ReferencePrices

  beforeAll(async () => {
    const now = seededMarket({ seed: SEED, startMs: Date.now() - MINUTE_MS })
    reference = new ReferencePrices({ market: now, seed: SEED })
    sources = new SimulatedSources(reference, systemClock)
    server = createServer((request, response) =>
      sources.serve(new URL(request.url ?? '', 'http://simulator'), request, response),
    )
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/outside/solana`
  })

  afterAll(async () => {
    sources.close()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })

  test('our adapter reads pools and prices from a real server', async () => {
    const events: MarketEvent[] = []
    const notices: SourceNotice[] = []
    const context = { assets: () => [], onNotice: (notice: SourceNotice) => notices.push(notice) }
    const subscription = solanaSource(
      { urls: [url] },
      context,
      systemRuntime(systemClock),
    ).subscribe((batch) => events.push(...batch))
    await until('pools', async () => events.some(({ kind }) => kind === 'pool'))
    subscription.unsubscribe()
    expect(notices).toEqual([])
    expect(events.filter(({ kind }) => kind === 'pool')).toHaveLength(4)
    expect(events.filter(({ kind }) => kind === 'oracle-price')).toHaveLength(15)
  })

  test('the public client library reads accounts, slots and times', async () => {
    const connection = new Connection(url, 'confirmed')
    const [pool, oracle] = [new PublicKey(SOL_USDC), new PublicKey(PYTH_SOL)]
    const beforeMs = systemClock.nowMs()
    const { context, value } = await connection.getMultipleAccountsInfoAndContext([
      pool,
      oracle,
      PublicKey.default,
    ])
    const afterMs = systemClock.nowMs()
    expect(value.map((account) => account?.data.length)).toEqual([653, 134, undefined])
    expect(value[0]?.owner.toBase58()).toBe('whirLbMiicVdio4qvUfM5KAg6Ct8VwpYzGff3uctyCc')
    expect(await connection.getSlot()).toBeGreaterThanOrEqual(context.slot)
    // The slot was the newest one at some time in between; times of blocks are truncated to seconds.
    const blockMs = 1_000 * ((await connection.getBlockTime(context.slot)) ?? Number.NaN)
    expect(blockMs).toBeGreaterThan(beforeMs - SLOT_MS - SECOND_MS)
    expect(blockMs).toBeLessThanOrEqual(afterMs)
    const single = await connection.getAccountInfo(pool, 'finalized')
    expect(single?.data.subarray(101, 133)).toEqual(
      new PublicKey('So11111111111111111111111111111111111111112').toBuffer(),
    )
    expect(await connection.getVersion()).toMatchObject({ 'solana-core': expect.any(String) })
  })

  test('the public client library reads the vault of a pool', async () => {
    const connection = new Connection(url, 'confirmed')
    const pool = await connection.getAccountInfo(new PublicKey(SOL_USDC))
    const vault = new PublicKey(pool?.data.subarray(213, 245) ?? [])
    const account = await connection.getAccountInfo(vault)
    expect(account?.owner.toBase58()).toBe('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA')
    expect(account?.data.readBigUInt64LE(64)).toBe(14_000_000_000_000n)
    const slice = { offset: 64, length: 8 }
    const part = await connection.getAccountInfo(vault, { dataSlice: slice })
    expect(part?.data.readBigUInt64LE()).toBe(14_000_000_000_000n)
  })

  test('the public client library is refused as by a real node', async () => {
    const connection = new Connection(url, 'confirmed')
    const keys = Array.from({ length: 101 }, () => new PublicKey(SOL_USDC))
    await expect(connection.getMultipleAccountsInfo(keys)).rejects.toThrow(
      'Too many inputs provided; max 100',
    )
    await expect(connection.getBlockTime(1e9)).rejects.toThrow('Block not available for slot')
    await expect(connection.getBalance(new PublicKey(SOL_USDC))).rejects.toThrow('Method not found')
    const minContextSlot = 1e9
    await expect(connection.getSlot({ minContextSlot })).rejects.toThrow('Minimum context slot')
  })
})
