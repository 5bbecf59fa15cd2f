import assert from 'node:assert/strict'
import type { SchedulerLike } from 'rxjs'
import { concatMap, NEVER, Observable, of, throwError, timer } from 'rxjs'
import { fillDocument } from '../../src/api/fill-document.ts'
import { overdue } from '../../src/api/freshness.ts'
import { arb } from '../../src/compute/analyses/arb/arb.ts'
import { basis } from '../../src/compute/analyses/basis/basis.ts'
import { cexDex } from '../../src/compute/analyses/cex-dex/cex-dex.ts'
import { depeg } from '../../src/compute/analyses/depeg/depeg.ts'
import { sentiment } from '../../src/compute/analyses/sentiment/sentiment.ts'
import type { Analyses } from '../../src/compute/analysis.ts'
import { Processor, PUBLISH_PERIOD_MS, PUBLISH_PHASES } from '../../src/compute/processor.ts'
import type { Clock } from '../../src/domain/clock.ts'
import type { Document, DocumentKey, NoAnswer } from '../../src/domain/document.ts'
import { documentKey, hasAnswer, WHOLE_MARKET } from '../../src/domain/document.ts'
import { OperatingError } from '../../src/domain/errors.ts'
import type { BookLevel, ContextEvent, MarketEvent } from '../../src/domain/event.ts'
import type { SourceId } from '../../src/domain/external.ts'
import { assetOf } from '../../src/domain/external.ts'
import { singleMarginTier } from '../../src/domain/listing.ts'
import { ReferencePrices } from '../../src/simulator/external/reference-prices.ts'
import type { ScenarioEvent } from '../../src/simulator/external/scenario.ts'
import { upstreams } from '../../src/simulator/external/simulated-sources.ts'
import type { Upstream, UpstreamReply } from '../../src/simulator/external/upstream.ts'
import type { Market } from '../../src/simulator/market/market.ts'
import { pythFeeds } from '../../src/streams/external/evm/pyth-feeds.ts'
import { externalFeed } from '../../src/streams/external/external-feed.ts'
import { HttpStatusError } from '../../src/streams/http-exchange.ts'
import type { ExternalRuntime } from '../../src/streams/runtime.ts'
import { Chance } from '../simulation/chance.ts'
import { Kernel } from '../simulation/kernel.ts'
import { Machine } from '../simulation/machine.ts'
import { rememberedMarket } from './remembered-market.ts'

/** An ordinary Wednesday afternoon (UTC). */
export const RIG_START_MS = Date.UTC(2026, 9, 7, 15, 7)
/** Two that every source lists, one of another chain, one quoted in thousands, and one that no source lists. */
const RIG_COINS = ['BTC', 'ETH', 'SOL', 'kPEPE', 'PURR'] as const
export type RigCoin = (typeof RIG_COINS)[number]

/**
 * Coins with external prices: every Pyth feed on Monad, so that no feed is missing, and all of the rig's but the last.
 * Those come last, because exchanges quote their first coins at every tick and the others once a second.
 */
const QUOTED_COINS: readonly string[] = [
  ...pythFeeds.map(({ asset }) => asset).filter((asset) => !RIG_COINS.some((own) => own === asset)),
  ...RIG_COINS.slice(0, -1),
]
const LATENCY_MS = 40
const DYING_MS = 250
const CONTEXT_MS = 3_000
const QUOTE_MS = 1_000
const HALF_SPREAD = 1e-4
const QUOTED_USD = 50_000
const UNANSWERED_PERIOD_MS = 1_000

const measured: Analyses = { coin: [basis, cexDex], market: [arb, depeg, sentiment] }
const ageMsMaxOf = new Map(
  [...measured.coin, ...measured.market].map(({ contract }) => [
    contract.id,
    contract.inputAgeMsMax,
  ]),
)

export type RigOptions = {
  readonly seed: number
  readonly scenario?: readonly ScenarioEvent[]
  /** No key if absent. */
  readonly pythKey?: string
  /** Nodes that lag by `byMs`: they keep answering, with the blocks of that time. */
  readonly behind?: {
    readonly source: SourceId
    readonly byMs: number
    readonly fromMs: number
    readonly untilMs: number
  }
}

// biome-ignore lint/suspicious/noExplicitAny: the body of an answer, of which tests read single members
type Body = any

/** What a caller would receive: an answer that is charged, or the reason why there is none. */
export type CallerResult =
  | {
      readonly status: 200
      readonly grade: 'A' | 'B' | 'C' | 'D'
      readonly warnings: readonly string[]
      readonly sources: readonly string[]
      readonly ageSeconds: number
      readonly body: Body
    }
  | { readonly status: 503 | 404; readonly why: string }

/**
 * The whole path from simulated sources to a caller, in virtual time and without sockets: the real adapters and
 * protocols, the real processor and analyses, and the gateway's own freshness check.
 */
export class ExternalRig {
  readonly reference: ReferencePrices
  readonly #market: Market
  readonly #scenario: ScenarioEvent[]
  /** Status events of the sources: seconds after the start, name, state. */
  readonly statuses: string[] = []
  readonly #kernel = new Kernel(RIG_START_MS)
  readonly #processor = new Processor(measured, 'rig')
  readonly #documents = new Map<string, Document>()
  /** What was answered at this instant, as tests look at one answer from several sides. */
  readonly #results = new Map<string, CallerResult>()
  #resultsMs = Number.NaN
  readonly #dueMs = new Map<string, number>()
  readonly #upstreams = new Map<SourceId, Upstream>()
  readonly #old = new Map<SourceId, Upstream>()
  readonly #behind: RigOptions['behind']

  constructor({ seed, scenario = [], pythKey, behind }: RigOptions) {
    this.#market = marketOf(seed)
    this.#scenario = [...scenario]
    this.reference = new RememberedPrices(this.#kernel.clock, {
      market: this.#market,
      seed,
      scenario: this.#scenario,
    })
    this.#behind = behind
    const { clock } = this.#kernel
    for (const [id, make] of Object.entries(upstreams) as [SourceId, Newly][])
      this.#upstreams.set(id, make(this.reference, clock))
    if (behind !== undefined) {
      const make = upstreams[behind.source]
      assert(make !== undefined)
      const nowMs = () => clock.nowMs() - behind.byMs
      this.#old.set(behind.source, make(this.reference, { ...clock, nowMs }))
    }
    this.#list()
    clock.every(CONTEXT_MS, () => this.#sendContexts())
    clock.every(QUOTE_MS, () => this.#sendQuotes())
    clock.every(PUBLISH_PERIOD_MS / PUBLISH_PHASES, () => this.#publish())
    this.#listen(seed, pythKey)
  }

  get nowMs(): number {
    return this.#kernel.nowMs
  }

  /** Advances virtual time to `afterMs` after the start. */
  runUntil(afterMs: number): this {
    this.#kernel.runUntil(RIG_START_MS + afterMs)
    return this
  }

  /** Adds a scenario event that begins now. @returns a function that ends it before its time */
  happen(what: Lasting, lastsMs: number): () => void {
    const { nowMs } = this
    const event = { ...what, fromMs: nowMs, untilMs: nowMs + lastsMs }
    const at = this.#scenario.push(event) - 1
    return () => {
      this.#scenario[at] = { ...event, untilMs: this.nowMs }
    }
  }

  runFor(durationMs: number): this {
    this.#kernel.runUntil(this.nowMs + durationMs)
    return this
  }

  basis(coin: RigCoin): CallerResult {
    return this.#result('basis', coin)
  }

  cexDex(coin: RigCoin): CallerResult {
    return this.#result('cex-dex', coin)
  }

  get arb(): CallerResult {
    return this.#result('arb', WHOLE_MARKET)
  }

  get depeg(): CallerResult {
    return this.#result('depeg', WHOLE_MARKET)
  }

  get sentiment(): CallerResult {
    return this.#result('sentiment', WHOLE_MARKET)
  }

  #result(analysis: string, subject: string): CallerResult {
    if (this.#resultsMs !== this.nowMs) this.#results.clear()
    this.#resultsMs = this.nowMs
    const key = documentKey(analysis, subject)
    const result = this.#results.get(key) ?? this.#newResult(analysis, key)
    this.#results.set(key, result)
    return result
  }

  /** Applies the gateway's rules to the newest document. */
  #newResult(analysis: string, key: DocumentKey): CallerResult {
    const document = this.#documents.get(key)
    const view = document?.views['']
    if (document === undefined || view === undefined) return { status: 503, why: 'not computed' }
    if (view.kind === 'not-covered') return { status: 404, why: view.kind }
    if (view.kind !== 'answer') return { status: 503, why: whyNone(view) }
    const ageMsMax = ageMsMaxOf.get(analysis) ?? Number.NaN
    const late = overdue(document, view, ageMsMax, this.nowMs)
    if (late !== null) return { status: 503, why: `overdue at ${late.ageMsMax}` }
    const facts = { nowMs: this.nowMs, executionMs: 1, coinsAvailable: RIG_COINS.length }
    const body = JSON.parse(fillDocument(document, view, facts).toString('utf8'))
    const { meta } = body
    return {
      status: 200,
      grade: meta.quality.grade,
      warnings: meta.warnings,
      sources: meta.sources,
      ageSeconds: meta.data_age_seconds,
      body,
    }
  }

  #list(): void {
    const listings = RIG_COINS.map((coin) => {
      const marginTiers = singleMarginTier(10)
      return { coin, sizeDecimals: 2, maxLeverage: 10, marginTiers, isDelisted: false }
    })
    this.#send({ kind: 'universe', listings, ...this.#times() })
    this.#sendContexts()
    this.#sendQuotes()
  }

  #sendContexts(): void {
    for (const coin of RIG_COINS) {
      const context = this.#market.context(coin, this.nowMs)
      assert(context !== undefined)
      const { impact, dayVolumeBase: _, dayNotionalUsd: dayNotional, ...figures } = context
      const event: ContextEvent = {
        kind: 'context',
        coin,
        ...figures,
        dayNotional,
        impactBid: impact?.bid ?? null,
        impactAsk: impact?.ask ?? null,
        ...this.#times(),
      }
      this.#send(event)
    }
  }

  #sendQuotes(): void {
    for (const coin of RIG_COINS) {
      const mid = this.#market.context(coin, this.nowMs)?.midPrice ?? Number.NaN
      const [bid, ask] = [-1, 1].map((side) => ({
        price: mid * (1 + side * HALF_SPREAD),
        sizeBase: QUOTED_USD / mid,
      })) as [BookLevel, BookLevel]
      this.#send({ kind: 'top-of-book', coin, bid, ask, ...this.#times() })
    }
  }

  #send(event: MarketEvent): void {
    this.#processor.process([event])
  }

  #times() {
    return { timeExchangeMs: this.nowMs, timeReceivedMs: this.nowMs }
  }

  #publish(): void {
    for (const document of this.#processor.publish(this.nowMs))
      this.#documents.set(document.key, document)
    for (const analysis of measured.market) {
      const { id } = analysis.contract
      if (this.nowMs < (this.#dueMs.get(id) ?? 0)) continue
      const { gathered, rendering } = this.#processor.gather(id, this.nowMs)
      const document = analysis.render(gathered, rendering)
      this.#documents.set(document.key, document)
      const periodMs = hasAnswer(document) ? analysis.periodMs : UNANSWERED_PERIOD_MS
      this.#dueMs.set(id, this.nowMs + periodMs)
    }
  }

  #listen(seed: number, key: string | undefined): void {
    const chance = new Chance(seed, 'outside')
    const machine = new Machine(this.#kernel, chance)
    const { scheduler } = machine.process((cause) => assert.fail(String(cause)))
    const addresses = Object.fromEntries(
      [...this.#upstreams].map(([id, { connect }]) => [
        id,
        {
          urls: [`${connect === undefined ? 'http' : 'ws'}://${id}`],
          ...(key !== undefined && id === 'pyth-hermes' && { key }),
        },
      ]),
    )
    const assets = RIG_COINS.map((coin) => assetOf(coin)?.asset ?? '')
    const context = {
      assets: () => assets,
      onNotice: () => {},
    }
    externalFeed(addresses, context, this.#runtime(scheduler, chance)).subscribe({
      next: (batch) => {
        for (const event of batch) {
          if (event.kind !== 'source-status') continue
          const seconds = Math.round((this.nowMs - RIG_START_MS) / 1_000)
          this.statuses.push(`${seconds} ${event.source} ${event.state}`)
        }
        this.#processor.process(batch)
      },
      error: (cause) => assert.fail(String(cause)),
      complete: () => assert.fail('no source ever completes'),
    })
  }

  #runtime(scheduler: SchedulerLike, chance: Chance): ExternalRuntime {
    const ask = (url: string, what: Asked): Observable<UpstreamReply> => {
      const { hostname, pathname: path, searchParams: query } = new URL(url)
      const id = hostname as SourceId
      return timer(LATENCY_MS, scheduler).pipe(
        concatMap(() => {
          if (this.#is('isDead', id))
            return throwError(() => new OperatingError('request_failed', url))
          const reply = this.#upstream(id).request?.({ path, query, ...what })
          assert(reply !== undefined, `${id} is asked`)
          return of(reply)
        }),
      )
    }
    const whole = (reply: UpstreamReply) => (reply !== null && 'body' in reply ? of(reply) : NEVER)
    return {
      scheduler,
      random: chance.next,
      get: (url, headers = {}) =>
        ask(url, { method: 'GET', headers: { ...headers }, body: '' }).pipe(concatMap(whole)),
      post: (url, body) =>
        ask(url, { method: 'POST', headers: {}, body: JSON.stringify(body) }).pipe(
          concatMap(whole),
        ),
      follow: (url, headers = {}) =>
        ask(url, { method: 'GET', headers: { ...headers }, body: '' }).pipe(
          concatMap((reply) => this.#followed(url, reply)),
        ),
      connect: (url, outbound) =>
        timer(LATENCY_MS, scheduler).pipe(concatMap(() => this.#connected(url, outbound))),
    }
  }

  #followed(url: string, reply: UpstreamReply): Observable<string> {
    if (reply === null) return NEVER
    if (!('start' in reply)) return throwError(() => new HttpStatusError(reply.status, url))
    const id = new URL(url).hostname as SourceId
    return new Observable<string>((subscriber) => {
      const write = (text: string) => {
        if (!this.#is('isStalled', id)) subscriber.next(text)
      }
      const stop = reply.start(write, () => subscriber.complete())
      subscriber.add(stop)
      subscriber.add(
        this.#whenDead(id, () => subscriber.error(new OperatingError('request_failed', url))),
      )
    })
  }

  #connected(url: string, outbound: Observable<string>): Observable<string> {
    const { hostname, pathname } = new URL(url)
    const id = hostname as SourceId
    return new Observable<string>((subscriber) => {
      const drop = () => subscriber.error(new OperatingError('socket_closed', url))
      if (this.#is('isDead', id)) {
        drop()
        return
      }
      const send = (text: string) => {
        if (!this.#is('isStalled', id)) subscriber.next(text)
      }
      const connect = this.#upstream(id).connect
      assert(connect !== undefined, `${id} is connected to`)
      const session = connect(pathname, { send, drop, ping: () => session.ponged?.() })
      subscriber.add(outbound.subscribe((text) => session.receive(text)))
      subscriber.add(() => session.close())
      subscriber.add(this.#whenDead(id, drop))
    })
  }

  #whenDead(id: SourceId, broken: () => void): () => void {
    return this.#kernel.clock.every(DYING_MS, () => {
      if (this.#is('isDead', id)) broken()
    })
  }

  #is(what: 'isDead' | 'isStalled', id: SourceId): boolean {
    return this.reference[what](id, this.nowMs)
  }

  #upstream(id: SourceId): Upstream {
    const behind = this.#behind
    const isBehind =
      behind?.source === id && this.nowMs >= behind.fromMs && this.nowMs < behind.untilMs
    const upstream = (isBehind ? this.#old : this.#upstreams).get(id)
    assert(upstream !== undefined, `${id} is simulated`)
    return upstream
  }
}

/** Chainlink's rounds of a day are searched again whenever chains ask for them as of different blocks. */
class RememberedPrices extends ReferencePrices {
  readonly #clock: Clock
  readonly #seen = new Map<string, number | undefined>()

  constructor(clock: Clock, options: ConstructorParameters<typeof ReferencePrices>[0]) {
    super(options)
    this.#clock = clock
  }

  override seenUsd(source: SourceId, asset: string, atMs: number): number | undefined {
    // What begins now does not change the past.
    if (source !== 'chainlink' || atMs >= this.#clock.nowMs())
      return super.seenUsd(source, asset, atMs)
    const key = `${asset} ${atMs}`
    if (!this.#seen.has(key)) this.#seen.set(key, super.seenUsd(source, asset, atMs))
    return this.#seen.get(key)
  }
}

/** A scenario event without its times. */
type Lasting = ScenarioEvent extends infer Each
  ? Each extends ScenarioEvent
    ? Omit<Each, 'fromMs' | 'untilMs'>
    : never
  : never

type Newly = (reference: ReferencePrices, clock: Clock) => Upstream
type Asked = {
  readonly method: string
  readonly headers: Record<string, string>
  readonly body: string
}

const markets = new Map<number, Market>()

/** One market per seed; external events do not move it. */
function marketOf(seed: number): Market {
  const known = markets.get(seed)
  const market = known ?? rememberedMarket({ seed, startMs: RIG_START_MS, coins: QUOTED_COINS })
  markets.set(seed, market)
  return market
}

/** One word: the missing or insufficient input. */
function whyNone(view: NoAnswer): string {
  if (view.kind === 'missing-input') return view.input
  if (view.kind !== 'low-coverage') return view.kind
  const { detail, missing } = view
  return lacking.find(([words]) => words.test(detail ?? missing))?.[1] ?? view.kind
}

const lacking = [
  [/^No oracle network/, 'oracle'],
  [/exchanges have a fresh price/, 'exchange'],
  [/^chains/, 'dex'],
  [/USDC/, 'usdc_price'],
] as const
