import assert from 'node:assert/strict'
import { concatMap, NEVER, Observable, of, throwError, timer } from 'rxjs'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { OperatingError } from '../src/domain/errors.ts'
import type { MarketEvent } from '../src/domain/event.ts'
import type { OraclePriceEvent, SourceId } from '../src/domain/external.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import { systemRuntime } from '../src/roles/system-runtime.ts'
import { ReferencePrices } from '../src/simulator/external/reference-prices.ts'
import type { ScenarioEvent } from '../src/simulator/external/scenario.ts'
import { SimulatedSources, upstreams } from '../src/simulator/external/simulated-sources.ts'
import type { UpstreamReply } from '../src/simulator/external/upstream.ts'
import { seededMarket } from '../src/simulator/market/seeded-market.ts'
import type { SimulatedVenue } from '../src/simulator/venue/simulated-venue.ts'
import { startSimulatedVenue } from '../src/simulator/venue/simulated-venue.ts'
import { sources } from '../src/streams/external/external-feed.ts'
import type { SourceNotice } from '../src/streams/external/source.ts'
import { HttpStatusError } from '../src/streams/http-exchange.ts'
import type { ExternalRuntime, HttpHeaders } from '../src/streams/runtime.ts'
import { Chance } from './simulation/chance.ts'
import { Kernel } from './simulation/kernel.ts'
import { Machine } from './simulation/machine.ts'
import { rememberedMarket } from './support/remembered-market.ts'

/** Our HTTP adapters at the simulated sources: through sockets, and for hours of virtual time without. */

const START_MS = Date.UTC(2026, 9, 7, 15, 7)
const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const LATENCY_MS = 40
const FEW = ['BTC', 'ETH', 'SOL', 'PEPE', 'HYPE']
const DOLLARS = ['USDC', 'USDT']
/** The coins of those assets and three more. */
const coins = ['BTC', 'ETH', 'SOL', 'kPEPE', 'HYPE', 'AVAX', 'LINK', 'XRP']
const market = rememberedMarket({ seed: 5, startMs: START_MS, coins })

class Run {
  readonly events: MarketEvent[] = []
  readonly notices: SourceNotice[] = []
  readonly reference: ReferencePrices
  readonly #kernel = new Kernel(START_MS)

  constructor(
    source: SourceId,
    scenario: readonly ScenarioEvent[] = [],
    key: string | null = 'any',
  ) {
    this.reference = new ReferencePrices({ market, seed: 5, scenario })
    const context = {
      assets: () => FEW,
      onNotice: (notice: SourceNotice) => this.notices.push(notice),
    }
    const listen = sources[source]
    assert(listen !== undefined)
    const address = { urls: ['http://source'], ...(key !== null && { key }) }
    listen(address, context, this.#runtime(source)).subscribe({
      next: (batch) => {
        expect(batch.length, 'no batch is empty').toBeGreaterThan(0)
        this.events.push(...batch)
      },
      error: (cause) => assert.fail(String(cause)),
      complete: () => assert.fail('a source never completes'),
    })
  }

  runUntil(afterMs: number): void {
    this.#kernel.runUntil(START_MS + afterMs)
  }

  get prices(): readonly OraclePriceEvent[] {
    return this.events.filter((event) => event.kind === 'oracle-price')
  }

  /** `state after seconds`. */
  get states(): readonly string[] {
    return this.events.flatMap((event) =>
      event.kind === 'source-status'
        ? [`${event.state} ${Math.round((event.timeReceivedMs - START_MS) / SECOND_MS)}`]
        : [],
    )
  }

  #runtime(source: SourceId): ExternalRuntime {
    const machine = new Machine(this.#kernel, new Chance(1, source))
    const { scheduler } = machine.process((cause) => assert.fail(String(cause)))
    const { clock } = this.#kernel
    const upstream = upstreams[source]?.(this.reference, clock)
    assert(upstream?.request !== undefined)
    const request = upstream.request.bind(upstream)
    const isOff = (is: 'isDead' | 'isStalled') => this.reference[is](source, clock.nowMs())
    const ask = (url: string, headers: HttpHeaders = {}): Observable<UpstreamReply> => {
      const { pathname: path, searchParams: query } = new URL(url)
      return timer(LATENCY_MS, scheduler).pipe(
        concatMap(() =>
          isOff('isDead')
            ? throwError(() => new OperatingError('request_failed', url))
            : of(request({ method: 'GET', path, query, headers: { ...headers }, body: '' })),
        ),
      )
    }
    return {
      scheduler,
      random: () => 0.5,
      connect: () => NEVER,
      post: () => NEVER,
      get: (url, headers) =>
        ask(url, headers).pipe(
          concatMap((reply) => (reply !== null && 'body' in reply ? of(reply) : NEVER)),
        ),
      follow: (url, headers) =>
        ask(url, headers).pipe(
          concatMap((reply) => {
            if (reply === null) return NEVER
            if (!('start' in reply)) return throwError(() => new HttpStatusError(reply.status, url))
            return new Observable<string>((subscriber) => {
              const write = (text: string) => {
                if (!isOff('isStalled')) subscriber.next(text)
              }
              const stop = reply.start(write, () => subscriber.complete())
              const broken = () => subscriber.error(new OperatingError('request_failed', url))
              const stopDying = clock.every(250, () => isOff('isDead') && broken())
              return () => {
                stop()
                stopDying()
              }
            })
          }),
        ),
    }
  }
}

/** Distance of a price from its network's reference price at its timestamp. */
function awayBps({ reference }: Run, event: OraclePriceEvent): number {
  const seen = reference.seenUsd(event.network, event.asset, event.timeExchangeMs)
  return seen === undefined ? Number.NaN : 1e4 * Math.abs(event.priceUsd / seen - 1)
}

describe('Hermes, simulated', () => {
  const minutes = (from: number, until: number) => ({
    fromMs: START_MS + from * MINUTE_MS,
    untilMs: START_MS + until * MINUTE_MS,
  })

  test('every asset has the price of its own feed, at most 2.5 times a second', () => {
    const run = new Run('pyth-hermes')
    run.runUntil(MINUTE_MS)
    expect(new Set(run.prices.map(({ asset }) => asset))).toEqual(new Set([...FEW, ...DOLLARS]))
    for (const event of run.prices) {
      expect(awayBps(run, event), event.asset).toBeLessThan(0.5)
      const confidenceBps = 1e4 * ((event.confidenceUsd ?? 0) / event.priceUsd)
      const stated = run.reference.confidenceBps('pyth-hermes', event.asset, event.timeExchangeMs)
      expect(confidenceBps / stated).toBeCloseTo(1, 1)
    }
    for (const asset of [...FEW, ...DOLLARS]) {
      const times = run.prices.flatMap((event) =>
        event.asset === asset ? [event.timeReceivedMs] : [],
      )
      expect(times.length).toBeGreaterThan(100)
      for (const [index, atMs] of times.slice(1).entries())
        expect(atMs - (times[index] ?? 0)).toBeGreaterThanOrEqual(400)
    }
    expect(run.states).toEqual(['down 0', 'up 0'])
    expect(run.notices).toEqual([])
  })

  test('a dead or stalled source is down within seconds and recovers within 90 seconds', () => {
    const run = new Run('pyth-hermes', [
      { kind: 'dead', source: 'pyth-hermes', ...minutes(2, 4) },
      { kind: 'stalled', source: 'pyth-hermes', ...minutes(10, 12) },
    ])
    run.runUntil(20 * MINUTE_MS)
    // The two streams go down and recover at different times.
    const whole = run.states.filter((state) => !state.startsWith('degraded'))
    expect(whole.map((state) => state.split(' ')[0])).toEqual([
      'down',
      'up',
      'down',
      'up',
      'down',
      'up',
    ])
    const seconds = whole.map((state) => Number(state.split(' ')[1]))
    const latest = [0, 1, 2 * 60 + 3, 4 * 60 + 90, 10 * 60 + 25, 12 * 60 + 90]
    for (const [index, atS] of seconds.entries())
      expect(atS).toBeLessThanOrEqual(latest[index] ?? 0)
  })

  test('a server that repeats old prices is down until it has new ones', () => {
    const run = new Run('pyth-hermes', [
      { kind: 'halted', source: 'pyth-hermes', ...minutes(2, 6) },
    ])
    run.runUntil(10 * MINUTE_MS)
    const whole = run.states.filter((state) => !state.startsWith('degraded'))
    expect(whole.map((state) => state.split(' ')[0])).toEqual(['down', 'up', 'down', 'up'])
    const [downS = 0, upS = 0] = whole.slice(2).map((state) => Number(state.split(' ')[1]))
    expect(downS).toBeLessThanOrEqual(2 * 60 + 85)
    expect(upS).toBeGreaterThanOrEqual(6 * 60)
    expect(upS).toBeLessThanOrEqual(6 * 60 + 90)
  })

  test('a plan with the core feeds only emits those', () => {
    const run = new Run('pyth-hermes', [], 'trial')
    run.runUntil(2 * MINUTE_MS)
    expect(new Set(run.prices.map(({ asset }) => asset))).toEqual(
      new Set(['BTC', 'ETH', 'SOL', ...DOLLARS]),
    )
    expect(run.states).toEqual(['down 0', 'up 0'])
    expect(run.notices.filter(({ kind }) => kind === 'feed_refused')).toHaveLength(2)
  })

  test('without a key it is off', () => {
    const run = new Run('pyth-hermes', [], null)
    run.runUntil(3 * HOUR_MS)
    expect(run.states).toEqual(['down 0', 'off 0'])
    expect(run.prices).toEqual([])
  })
})

describe('RedStone, simulated', () => {
  test('the median of five nodes is within its confidence interval', () => {
    const run = new Run('redstone')
    run.runUntil(5 * MINUTE_MS)
    expect(run.prices.length).toBeGreaterThan(25 * (FEW.length + DOLLARS.length))
    for (const event of run.prices) {
      expect(awayBps(run, event), event.asset).toBeLessThan(2)
      expect(event.confidenceUsd).toBeGreaterThanOrEqual(event.priceUsd * 0.9999e-4)
      expect(1e4 * ((event.confidenceUsd ?? 0) / event.priceUsd)).toBeLessThan(2)
      expect(event.timeReceivedMs - event.timeExchangeMs).toBeLessThan(10_100)
    }
    expect(run.states).toEqual(['down 0', 'up 0'])
    expect(run.notices).toEqual([])
  })

  test('a stalled gateway repeats old packages with their old time', () => {
    const during = { fromMs: START_MS + MINUTE_MS, untilMs: START_MS + HOUR_MS }
    const run = new Run('redstone', [{ kind: 'stalled', source: 'redstone', ...during }])
    run.runUntil(10 * MINUTE_MS)
    const last = run.prices.at(-1)
    expect((last?.timeReceivedMs ?? 0) - (last?.timeExchangeMs ?? 0)).toBeGreaterThan(8 * MINUTE_MS)
  })
})

test('index and supply are emitted every half hour with their own time', () => {
  const index = new Run('fear-greed')
  const supply = new Run('stablecoin-supply')
  for (const run of [index, supply]) run.runUntil(3 * HOUR_MS)
  const days = index.events.filter((event) => event.kind === 'fear-greed')
  expect(days.length).toBe(6)
  for (const { value, timeExchangeMs } of days) {
    expect(timeExchangeMs).toBe(Date.UTC(2026, 9, 7))
    expect(value >= 0 && value <= 100).toBe(true)
  }
  const supplies = supply.events.filter((event) => event.kind === 'stablecoin-supply')
  expect(supplies.length).toBe(6)
  for (const { asset, supplyUsd, dayAgoUsd, weekAgoUsd } of supplies) {
    expect(asset).toBe('USDC')
    for (const usd of [supplyUsd, dayAgoUsd, weekAgoUsd]) expect(usd).toBeGreaterThan(70e9)
  }
})

describe('through real sockets', () => {
  let venue: SimulatedVenue
  const stops: (() => void)[] = []

  beforeEach(async () => {
    const current = seededMarket({ seed: 5, startMs: systemClock.nowMs() })
    const reference = new ReferencePrices({ market: current, seed: 5 })
    const external = new SimulatedSources(reference, systemClock)
    venue = await startSimulatedVenue({ market: current, external, clock: systemClock, port: 0 })
  })

  afterEach(async () => {
    for (const stop of stops.splice(0)) stop()
    await venue.close()
  })

  /** All events of a source until `isDone`. */
  const listen = (source: SourceId, isDone: (events: readonly MarketEvent[]) => boolean) =>
    new Promise<readonly MarketEvent[]>((resolve) => {
      const events: MarketEvent[] = []
      const address = { urls: [`${venue.externalUrl}${source}`], key: 'any' }
      const context = { assets: () => FEW, onNotice: () => {} }
      const feed = sources[source]?.(address, context, systemRuntime(systemClock))
      const subscription = feed?.subscribe((batch) => {
        events.push(...batch)
        if (isDone(events)) resolve(events)
      })
      stops.push(() => subscription?.unsubscribe())
    })

  test.each(['pyth-hermes', 'redstone'] as const)('%s emits every asset', async (source) => {
    const assetsIn = (events: readonly MarketEvent[]) =>
      new Set(events.flatMap((event) => (event.kind === 'oracle-price' ? [event.asset] : [])))
    const wanted = new Set([...FEW, ...DOLLARS])
    const events = await listen(source, (soFar) => assetsIn(soFar).size >= wanted.size)
    expect(assetsIn(events)).toEqual(wanted)
    expect(events).toContainEqual(expect.objectContaining({ kind: 'source-status', state: 'up' }))
  })

  test.each(['fear-greed', 'stablecoin-supply'] as const)('%s emits its value', async (source) => {
    const events = await listen(source, (soFar) => soFar.some(({ kind }) => kind === source))
    expect(events.map(({ kind }) => kind)).toEqual(['source-status', 'source-status', source])
  })

  test('Hermes answers the documented calls as plain HTTP', async () => {
    const base = `${venue.externalUrl}pyth-hermes`
    const headers = { authorization: 'Bearer any' }
    const found = await fetch(`${base}/v2/price_feeds?query=btc&asset_type=crypto`)
    const rows = (await found.json()) as { attributes: { symbol: string } }[]
    const symbols = rows.map(({ attributes }) => attributes.symbol)
    expect(symbols).toContain('Crypto.BTC/USD')
    expect(symbols.length, 'a substring search').toBeGreaterThan(1)
    const id = '0xe62df6c8b4a85fe1a67db44dc12de5db330f7ac66b72dc658afedf0f4a415b43'
    const latest = `${base}/v2/updates/price/latest?ids[]=${id}&parsed=true&encoding=hex`
    expect((await fetch(latest)).status).toBe(401)
    const answer = await (await fetch(latest, { headers })).json()
    const price = {
      price: expect.stringMatching(/^\d+$/),
      conf: expect.stringMatching(/^\d+$/),
      expo: -8,
      publish_time: expect.any(Number),
    }
    expect(answer).toEqual({
      binary: { encoding: 'hex', data: [expect.stringMatching(/^504e4155[0-9a-f]+$/)] },
      parsed: [
        {
          id: id.slice(2),
          price,
          ema_price: price,
          metadata: {
            slot: expect.any(Number),
            proof_available_time: expect.any(Number),
            prev_publish_time: expect.any(Number),
          },
        },
      ],
    })
    const unknown = `${base}/v2/updates/price/latest?ids[]=${'0'.repeat(64)}`
    expect((await fetch(unknown, { headers })).status).toBe(404)
  })
})
