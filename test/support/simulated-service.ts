import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { concatMap, NEVER, Observable, of, throwError, timer } from 'rxjs'
import type { Clock } from '../../src/domain/clock.ts'
import type { DexSelection } from '../../src/domain/dex.ts'
import type { SourceId } from '../../src/domain/external.ts'
import { Engine } from '../../src/engine/engine.ts'
import { synchronousRenderer } from '../../src/engine/market-renderer.ts'
import { EngineReplica } from '../../src/link/engine-replica.ts'
import type { EngineMessage } from '../../src/link/message.ts'
import { writeSimulatedPast } from '../../src/roles/simulated-past.ts'
import { ReferencePrices } from '../../src/simulator/external/reference-prices.ts'
import { upstreams } from '../../src/simulator/external/simulated-sources.ts'
import type { Upstream, UpstreamReply } from '../../src/simulator/external/upstream.ts'
import type { BuilderDex } from '../../src/simulator/market/builder-dexes.ts'
import { seededBuilderDexes } from '../../src/simulator/market/builder-dexes.ts'
import { catalog } from '../../src/simulator/market/catalog.ts'
import { CoinMarkets } from '../../src/simulator/market/coin-markets.ts'
import { modelCoins } from '../../src/simulator/market/seeded-market.ts'
import { venueCadences, venueLimits } from '../../src/simulator/venue/limits.ts'
import { Venue } from '../../src/simulator/venue/venue.ts'
import { externalFeed } from '../../src/streams/external/external-feed.ts'
import { HttpStatusError } from '../../src/streams/http-exchange.ts'
import type { ExternalRuntime } from '../../src/streams/runtime.ts'
import { Chance } from '../simulation/chance.ts'
import { Kernel } from '../simulation/kernel.ts'
import type { Process } from '../simulation/machine.ts'
import { Machine, withoutRealTimers } from '../simulation/machine.ts'
import { Network } from '../simulation/network.ts'

const START_MS = Date.UTC(2026, 9, 7, 15, 7)
const LATENCY_MS = 40
const WEIGHT_PER_MINUTE = 1_000
/** Of the venue, per weight that the engine uses. */
const WEIGHT_GRANTED = 1.2

export type SimulatedServiceOptions = {
  readonly seed: number
  /** Number of the simulated venue's coins, largest first. */
  readonly coins: number
  /** Separate directory for the databases. */
  readonly dataDir: string
  readonly version: string
  /** REST weight that the engine uses, of a venue that grants a fifth more; 1,000 if absent, as in production. */
  readonly weightPerMinute?: number
  /** `--subscriptions-max` of the engine. */
  readonly subscriptionsMax?: number
  /** Start of virtual time. */
  readonly startMs?: number
  /** HIP-3 dexes that are followed in addition to the main one; the venue lists all of them. */
  readonly dexes?: DexSelection
  /** Period between two selections of the followed dexes with `auto`. */
  readonly dexPeriodMs?: number
  /** By dex, the factor of what is open and traded there. */
  readonly dexActivity?: DexActivity
  /** Whether open interest of the last day is already on disk, as after an earlier run. */
  readonly hasPast?: boolean
  /** Called with every message that the engine publishes. */
  readonly onMessage?: (message: EngineMessage, nowMs: number) => void
}

type DexActivity = Readonly<Record<string, (atMs: number) => number>>

/** Replica of a gateway before the first message. */
export function newReplica(): EngineReplica {
  return new EngineReplica({ analysis: 'pulse', view: '1h,4h' })
}

/**
 * The real engine with the simulated venue and every simulated source, in virtual time; its messages depend on the
 * seed alone.
 */
export class SimulatedService {
  /** State of a gateway. */
  readonly replica = newReplica()
  /** The engine's clock. */
  readonly clock: Clock
  readonly #kernel: Kernel
  readonly #engine: { stop(): void }

  constructor(options: SimulatedServiceOptions) {
    const { seed, coins, dataDir, version, startMs = START_MS, dexes = [] } = options
    const { weightPerMinute = WEIGHT_PER_MINUTE } = options
    const kernel = new Kernel(startMs)
    this.#kernel = kernel
    const machine = new Machine(kernel, new Chance(seed, 'machine'))
    const process = machine.process((cause) => {
      throw cause
    })
    this.clock = process.clock
    const model = modelCoins(seed, startMs)
    const market = new CoinMarkets({
      clockShiftMs: 0,
      coins: catalog.slice(0, coins).map((row) => model.ofCatalog(row)),
      newCoin: model.ofListing,
    })
    if (options.hasPast === true) {
      const data = join(dataDir, 'data')
      mkdirSync(data, { recursive: true })
      writeSimulatedPast(market, data, startMs)
    }
    const venue = new Venue({
      market,
      builders: seededBuilderDexes({ seed, startMs }).map((dex) =>
        withActivity(dex, options.dexActivity?.[dex.name]),
      ),
      clock: kernel.clock,
      limits: { ...venueLimits, restWeightPerMinute: weightPerMinute * WEIGHT_GRANTED },
      cadences: venueCadences,
    })
    const chance = new Chance(seed, 'network')
    const network = new Network({ kernel, venue, chance, tap: {} })
    const sources = new SourcesWithoutSockets(new ReferencePrices({ market, seed }), kernel.clock)
    const runtime = {
      scheduler: process.scheduler,
      random: new Chance(seed, 'engine').next,
      connect: network.connectOf(process, 'here'),
      post: network.postOf(process, 'here'),
    }
    this.#engine = withoutRealTimers(() =>
      Engine.start(
        {
          venue: { wsUrl: 'ws://venue/ws', infoUrl: 'http://venue/info' },
          weightPerMinute,
          dexes,
          ...(options.dexPeriodMs !== undefined && { dexPeriodMs: options.dexPeriodMs }),
          ...(options.subscriptionsMax !== undefined && {
            subscriptionsMax: options.subscriptionsMax,
          }),
          dataDir: join(dataDir, 'data'),
          version,
        },
        {
          clock: process.clock,
          log: pino({ level: 'silent' }),
          renderer: synchronousRenderer,
          runtime,
          external: (context) =>
            externalFeed(sources.addresses, context, sources.runtime(process, runtime.random)),
        },
        (message) => {
          const nowMs = process.clock.nowMs()
          this.replica.apply(message, nowMs)
          options.onMessage?.(message, nowMs)
        },
      ),
    )
  }

  run(seconds: number): void {
    withoutRealTimers(() => this.#kernel.runUntil(this.#kernel.nowMs + seconds * 1_000))
  }

  stop(): void {
    withoutRealTimers(() => this.#engine.stop())
  }
}

/** Each simulated source at its own address, called in place of a network. */
class SourcesWithoutSockets {
  readonly #sources: ReadonlyMap<string, Upstream>

  constructor(world: ReferencePrices, clock: Clock) {
    this.#sources = new Map(Object.entries(upstreams).map(([id, make]) => [id, make(world, clock)]))
  }

  get addresses(): Readonly<Partial<Record<SourceId, { readonly urls: readonly string[] }>>> {
    return Object.fromEntries(
      [...this.#sources].map(([id, { connect }]) => [
        id,
        { urls: [`${connect === undefined ? 'http' : 'ws'}://${id}`] },
      ]),
    )
  }

  runtime({ scheduler }: Process, random: () => number): ExternalRuntime {
    const later = <Reply>(reply: () => Observable<Reply>) =>
      timer(LATENCY_MS, scheduler).pipe(concatMap(reply))
    const ask = (url: string, method: string, headers = {}, body = '') =>
      later(() => {
        const { hostname, pathname: path, searchParams: query } = new URL(url)
        const request = { method, path, query, headers: { ...headers }, body }
        return of(this.#source(hostname).request?.(request) ?? null)
      })
    return {
      scheduler,
      random,
      get: (url, headers) => ask(url, 'GET', headers).pipe(concatMap(whole)),
      post: (url, body) => ask(url, 'POST', {}, JSON.stringify(body)).pipe(concatMap(whole)),
      follow: (url, headers) =>
        ask(url, 'GET', headers).pipe(concatMap((reply) => followed(url, reply))),
      connect: (url, outbound) => later(() => this.#connected(url, outbound)),
    }
  }

  #connected(url: string, outbound: Observable<string>): Observable<string> {
    const { hostname, pathname } = new URL(url)
    return new Observable<string>((subscriber) => {
      const session = this.#source(hostname).connect?.(pathname, {
        send: (text) => subscriber.next(text),
        drop: () => subscriber.error(new Error(`${url} closed`)),
        ping: () => session?.ponged?.(),
      })
      assert(session !== undefined, `${hostname} is connected to`)
      subscriber.add(outbound.subscribe((text) => session.receive(text)))
      subscriber.add(() => session.close())
    })
  }

  #source(id: string): Upstream {
    const source = this.#sources.get(id)
    assert(source !== undefined, `${id} is simulated`)
    return source
  }
}

function withActivity(dex: BuilderDex, factorAt: DexActivity[string] = () => 1): BuilderDex {
  const { market } = dex
  const contextOf = market.context.bind(market)
  market.context = (coin, atMs) => {
    const context = contextOf(coin, atMs)
    if (context === undefined) return undefined
    const factor = factorAt(atMs)
    return {
      ...context,
      openInterestBase: factor * context.openInterestBase,
      dayNotionalUsd: factor * context.dayNotionalUsd,
      dayVolumeBase: factor * context.dayVolumeBase,
    }
  }
  return dex
}

function whole(reply: UpstreamReply) {
  return reply !== null && 'body' in reply ? of(reply) : NEVER
}

function followed(url: string, reply: UpstreamReply): Observable<string> {
  if (reply === null) return NEVER
  if (!('start' in reply)) return throwError(() => new HttpStatusError(reply.status, url))
  return new Observable<string>((subscriber) => {
    const stop = reply.start(
      (text) => subscriber.next(text),
      () => subscriber.complete(),
    )
    subscriber.add(stop)
  })
}
