import { Observable, Subscription } from 'rxjs'
import type { Batch } from '../../../domain/event.ts'
import type { ExternalRuntime, HttpHeaders } from '../../runtime.ts'
import type { DecodeIssue, ExternalSource, SourceAddress, SourceContext } from '../source.ts'
import { SourceStatus } from '../source-status.ts'
import { FeedCatalogue } from './feed-catalogue.ts'
import type { Feeds } from './feed-chunks.ts'
import { FeedChunks } from './feed-chunks.ts'
import { shippedFeedIds } from './feed-ids.ts'
import { PriceFlow } from './price-flow.ts'
import { PriceStream } from './price-stream.ts'
import { RequestGate } from './request-gate.ts'

/** The venue's list changes rarely. */
const LOOK_PERIOD_MS = 5_000
const REFUSED_MS = 4 * 3_600_000
const REFUSED_JITTER = 0.1
const NEEDS_KEY = 'needs a key: --pyth-key'

/**
 * Pyth's prices as Hermes streams them. Its catalogue is open to all, its prices to whoever has a key; the
 * source is `off` where there is none, and asks again after hours.
 */
export const pythHermes: ExternalSource = (address, context, runtime) =>
  new Observable<Batch>((subscriber) => {
    const conversation = new Conversation(address, context, runtime, (batch) => {
      if (batch.length > 0) subscriber.next(batch)
    })
    conversation.start()
    return () => conversation.stop()
  })

type Told = { readonly stream: PriceStream; readonly flow: PriceFlow }

class Conversation {
  readonly #urls: readonly string[]
  readonly #headers: HttpHeaders
  readonly #context: SourceContext
  readonly #runtime: ExternalRuntime
  readonly #tell: (batch: Batch) => void
  readonly #status = new SourceStatus('pyth-hermes')
  readonly #gate: RequestGate
  readonly #chunks = new FeedChunks(new Set(shippedFeedIds.keys()))
  readonly #catalogue: FeedCatalogue
  readonly #streams = new Map<Feeds, Told>()
  #timer = Subscription.EMPTY

  constructor(
    { urls, key }: SourceAddress,
    context: SourceContext,
    runtime: ExternalRuntime,
    tell: (batch: Batch) => void,
  ) {
    this.#urls = urls.map((url) => url.replace(/\/+$/, ''))
    this.#headers = key === undefined ? {} : { authorization: `Bearer ${key}` }
    this.#context = context
    this.#runtime = runtime
    this.#tell = tell
    this.#gate = new RequestGate(runtime.scheduler.now())
    this.#catalogue = new FeedCatalogue({
      urls: this.#urls,
      headers: this.#headers,
      gate: this.#gate,
      runtime,
      onChange: () => {
        this.#arrange()
        this.#judge('')
      },
      onIssue: (issue) => this.#note(issue),
    })
  }

  start(): void {
    this.#tell(this.#status.set('down', 'connecting', this.#runtime.scheduler.now()))
    this.#begin()
  }

  stop(): void {
    this.#timer.unsubscribe()
    this.#catalogue.stop()
    for (const told of this.#streams.values()) end(told)
    this.#streams.clear()
  }

  #begin(): void {
    this.#catalogue.start()
    this.#look()
  }

  #look(): void {
    this.#arrange()
    this.#timer = this.#runtime.scheduler.schedule(() => this.#look(), LOOK_PERIOD_MS)
  }

  /** One stream for every chunk of the feeds that are wanted now. */
  #arrange(): void {
    const assets = new Set([...shippedFeedIds.keys(), ...this.#context.assets()])
    this.#chunks.want(this.#catalogue.idsOf(assets))
    const wanted = new Set(this.#chunks.chunks)
    for (const [feeds, told] of this.#streams) {
      if (wanted.has(feeds)) continue
      end(told)
      this.#streams.delete(feeds)
    }
    for (const feeds of wanted) if (!this.#streams.has(feeds)) this.#follow(feeds)
  }

  #follow(feeds: Feeds): void {
    const flow = new PriceFlow(feeds, this.#runtime.scheduler, this.#tell)
    const stream = new PriceStream({
      feeds,
      urls: this.#urls,
      headers: this.#headers,
      gate: this.#gate,
      runtime: this.#runtime,
      onPrices: (prices) => {
        const strangers = flow.take(prices)
        if (strangers > 0) this.#note({ kind: 'unknown_feed', detail: `${strangers} prices` })
      },
      onState: (reason) => this.#judge(reason),
      onExcluded: (ids) => {
        for (const id of ids) this.#chunks.exclude(id)
        this.#arrange()
      },
      onRefused: (status) => this.#refused(status),
      onIssue: (issue) => this.#note(issue),
    })
    this.#streams.set(feeds, { stream, flow })
    stream.start()
  }

  /** What the streams make of the whole; one that is only just being opened has no say. */
  #judge(reason: string): void {
    const states = [...this.#streams.values()].map(({ stream }) => stream.state)
    const up = states.filter((state) => state === 'up').length
    const down = states.filter((state) => state === 'down').length
    const nowMs = this.#runtime.scheduler.now()
    if (up > 0 && down > 0)
      this.#tell(this.#status.set('degraded', `${down} of ${states.length} streams`, nowMs))
    else if (up > 0 && this.#catalogue.isMissing)
      this.#tell(this.#status.set('degraded', 'no list of feeds', nowMs))
    else if (up > 0) this.#tell(this.#status.set('up', '', nowMs))
    else if (down > 0) this.#tell(this.#status.set('down', reason, nowMs))
  }

  #refused(status: number): void {
    const { scheduler, random } = this.#runtime
    this.stop()
    const hasKey = this.#headers['authorization'] !== undefined
    const isLocked = status === 401 || status === 403
    const kind = isLocked && !hasKey ? 'needs_key' : 'refused'
    this.#note({ kind, detail: `HTTP ${status}` })
    const reason = hasKey ? `HTTP ${status}: the key is refused` : NEEDS_KEY
    this.#tell(
      isLocked
        ? this.#status.set('off', reason, scheduler.now())
        : this.#status.set('blocked', `HTTP ${status}`, scheduler.now()),
    )
    const delayMs = REFUSED_MS * (1 + REFUSED_JITTER * random())
    this.#timer = scheduler.schedule(() => this.#begin(), delayMs)
  }

  #note(issue: DecodeIssue): void {
    this.#context.onNotice({ source: 'pyth-hermes', ...issue })
  }
}

function end({ stream, flow }: Told): void {
  stream.stop()
  flow.stop()
}
