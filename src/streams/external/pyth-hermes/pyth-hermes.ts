import { Observable, Subscription } from 'rxjs'
import type { Batch } from '../../../domain/event.ts'
import type { ExternalRuntime, HttpHeaders } from '../../runtime.ts'
import { refusedMs } from '../retry.ts'
import type { DecodeIssue, ExternalSource, SourceAddress, SourceContext } from '../source.ts'
import { SourceStatus } from '../source-status.ts'
import { FeedCatalogue } from './feed-catalogue.ts'
import type { Feeds } from './feed-chunks.ts'
import { FeedChunks } from './feed-chunks.ts'
import { coreFeedIds } from './feed-ids.ts'
import { PriceStream } from './price-stream.ts'
import { PriceThrottle } from './price-throttle.ts'
import { RequestLimit } from './request-limit.ts'

const ASSETS_PERIOD_MS = 5_000
const NEEDS_KEY = 'needs a key: --pyth-key'

/**
 * Pyth prices streamed by Hermes (https://hermes.pyth.network/docs). Its list of feeds is public, its prices
 * need a key: without one the source is `off` and is tried again after hours.
 */
export const pythHermes: ExternalSource = (address, context, runtime) =>
  new Observable<Batch>((subscriber) => {
    const client = new HermesClient(address, context, runtime, (batch) => {
      if (batch.length > 0) subscriber.next(batch)
    })
    client.start()
    return () => client.stop()
  })

type OpenStream = { readonly stream: PriceStream; readonly throttle: PriceThrottle }

class HermesClient {
  readonly #urls: readonly string[]
  readonly #headers: HttpHeaders
  readonly #context: SourceContext
  readonly #runtime: ExternalRuntime
  readonly #emit: (batch: Batch) => void
  readonly #status = new SourceStatus('pyth-hermes')
  readonly #limit: RequestLimit
  readonly #chunks = new FeedChunks(new Set(coreFeedIds.keys()))
  readonly #catalogue: FeedCatalogue
  readonly #streams = new Map<Feeds, OpenStream>()
  #timer = Subscription.EMPTY
  /** Reason of the newest stream failure. */
  #reason = ''

  constructor(
    { urls, key }: SourceAddress,
    context: SourceContext,
    runtime: ExternalRuntime,
    emit: (batch: Batch) => void,
  ) {
    this.#urls = urls
    this.#headers = key === undefined ? {} : { authorization: `Bearer ${key}` }
    this.#context = context
    this.#runtime = runtime
    this.#emit = emit
    this.#limit = new RequestLimit(runtime.scheduler.now())
    this.#catalogue = new FeedCatalogue({
      urls,
      headers: this.#headers,
      limit: this.#limit,
      runtime,
      onChange: () => {
        this.#updateStreams()
        this.#updateStatus()
      },
      onIssue: (issue) => this.#note(issue),
    })
  }

  start(): void {
    this.#emit(this.#status.set('down', 'connecting', this.#runtime.scheduler.now()))
    this.#begin()
  }

  stop(): void {
    this.#timer.unsubscribe()
    this.#catalogue.stop()
    for (const open of this.#streams.values()) close(open)
    this.#streams.clear()
  }

  #begin(): void {
    this.#catalogue.start()
    this.#followAssets()
  }

  #followAssets(): void {
    this.#updateStreams()
    this.#timer = this.#runtime.scheduler.schedule(() => this.#followAssets(), ASSETS_PERIOD_MS)
  }

  /** Opens one stream per chunk of the feeds that are wanted now, and closes the others. */
  #updateStreams(): void {
    const assets = new Set([...coreFeedIds.keys(), ...this.#context.assets()])
    this.#chunks.set(this.#catalogue.idsOf(assets), this.#runtime.scheduler.now())
    const wanted = new Set(this.#chunks.chunks)
    for (const [feeds, open] of this.#streams) {
      if (wanted.has(feeds)) continue
      close(open)
      this.#streams.delete(feeds)
    }
    for (const feeds of wanted) if (!this.#streams.has(feeds)) this.#open(feeds)
  }

  #open(feeds: Feeds): void {
    const throttle = new PriceThrottle(feeds, this.#runtime.scheduler, this.#emit)
    const stream = new PriceStream({
      feeds,
      urls: this.#urls,
      headers: this.#headers,
      limit: this.#limit,
      runtime: this.#runtime,
      onPrices: (prices) => {
        const unknown = throttle.add(prices)
        if (unknown > 0) this.#note({ kind: 'unknown_feed', detail: `${unknown} prices` })
      },
      onState: (reason) => {
        if (reason !== '') this.#reason = reason
        this.#updateStatus()
      },
      onExcluded: (ids) => this.#exclude(ids),
      onRefused: (status) => this.#refused(status),
      onIssue: (issue) => this.#note(issue),
    })
    this.#streams.set(feeds, { stream, throttle })
    stream.start()
  }

  /** The plan of a key rarely changes, so refused feeds are tried again after hours. */
  #exclude(ids: readonly string[]): void {
    const { scheduler, random } = this.#runtime
    // One time for all, because each return interrupts a stream.
    const untilMs = scheduler.now() + refusedMs(random())
    for (const id of ids) this.#chunks.exclude(id, untilMs)
    this.#updateStreams()
    this.#updateStatus()
  }

  /** Streams that are being opened do not count. */
  #updateStatus(): void {
    const states = [...this.#streams.values()].map(({ stream }) => stream.state)
    const up = states.filter((state) => state === 'up').length
    const down = states.filter((state) => state === 'down').length
    const nowMs = this.#runtime.scheduler.now()
    if (states.length === 0) this.#emit(this.#status.set('down', 'every feed is refused', nowMs))
    else if (up > 0 && down > 0)
      this.#emit(this.#status.set('degraded', `${down} of ${states.length} streams down`, nowMs))
    else if (up > 0 && this.#catalogue.isMissing)
      this.#emit(this.#status.set('degraded', 'the list of feeds is not available', nowMs))
    else if (up > 0) this.#emit(this.#status.set('up', '', nowMs))
    else if (down > 0) this.#emit(this.#status.set('down', this.#reason, nowMs))
  }

  #refused(status: number): void {
    const { scheduler, random } = this.#runtime
    this.stop()
    const hasKey = this.#headers['authorization'] !== undefined
    const isLocked = status === 401 || status === 403
    const pauseMs = refusedMs(random())
    const next = `next attempt in ${Math.round(pauseMs / 60_000)} min`
    this.#note({
      kind: isLocked && !hasKey ? 'needs_key' : 'request_refused',
      detail: `HTTP ${status}; ${next}`,
    })
    const reason = hasKey ? `HTTP ${status}: the key is refused` : NEEDS_KEY
    this.#emit(
      isLocked
        ? this.#status.set('off', reason, scheduler.now())
        : this.#status.set('blocked', `HTTP ${status} from every address`, scheduler.now()),
    )
    this.#timer = scheduler.schedule(() => this.#begin(), pauseMs)
  }

  #note(issue: DecodeIssue): void {
    this.#context.onNotice({ source: 'pyth-hermes', ...issue })
  }
}

function close({ stream, throttle }: OpenStream): void {
  stream.stop()
  throttle.stop()
}
