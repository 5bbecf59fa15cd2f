import type { Observable } from 'rxjs'
import {
  concat,
  defer,
  ignoreElements,
  interval,
  map,
  merge,
  Subscription,
  tap,
  throwError,
} from 'rxjs'
import { OperatingError } from '../../../domain/errors.ts'
import type { Batch } from '../../../domain/event.ts'
import { HttpStatusError } from '../../http-exchange.ts'
import { rateGate } from '../../rate-gate.ts'
import type { ExternalRuntime, HttpHeaders, HttpReply } from '../../runtime.ts'
import { Mirrors } from '../mirrors.ts'
import { poll } from '../polling.ts'
import { failureDetail, publicReason, withReplyTimeout } from '../retry.ts'
import type { DecodeIssue } from '../source.ts'
import type { FeedPrice } from './decode.ts'
import { decodeUpdate, refusedFeed, UPDATE_CHARS_MAX } from './decode.ts'
import { EventStream } from './event-stream.ts'
import type { Feeds } from './feed-chunks.ts'
import type { RequestLimit } from './request-limit.ts'

/** A healthy stream sends prices several times a second. */
const PRICE_GAP_MS_MAX = 15_000
/** Every crypto feed is published several times a second; a server that repeats older prices is stuck. */
const PUBLISHED_MS_MAX = 60_000
const CHECK_PERIOD_MS = 5_000
/** A stream of this age has not failed: the server ends every stream after 24 h. */
const STABLE_MS = 60_000
const PROBE_MS_MAX = 30_000
const STREAM_QUERY = '&allow_unordered=false&benchmarks_only=false'

export type PriceStreamOptions = {
  readonly feeds: Feeds
  readonly urls: readonly string[]
  readonly headers: HttpHeaders
  readonly limit: RequestLimit
  readonly runtime: ExternalRuntime
  readonly onPrices: (prices: readonly FeedPrice[]) => void
  readonly onState: (reason: string) => void
  /** The server refuses these feeds and no others. */
  readonly onExcluded: (ids: readonly string[]) => void
  /** Every server refuses the stream. */
  readonly onRefused: (status: number) => void
  readonly onIssue: (issue: DecodeIssue) => void
}

/** The feeds of a refused stream, requested one after the other to find the refused ones. */
type Probe = { readonly ids: readonly string[]; readonly refused: readonly string[] }

/** One stream of price updates, reopened after every end until it is stopped. */
export class PriceStream {
  readonly #options: PriceStreamOptions
  readonly #mirrors: Mirrors
  #state: 'opening' | 'up' | 'down' = 'opening'
  #polling = Subscription.EMPTY
  #probe: Probe | null = null
  #openedMs = 0
  #lastPriceMs = 0
  #failures = 0

  constructor(options: PriceStreamOptions) {
    this.#options = options
    this.#mirrors = new Mirrors(options.urls)
  }

  get state(): 'opening' | 'up' | 'down' {
    return this.#state
  }

  start(): void {
    const { limit, runtime } = this.#options
    const waitMs = (nowMs: number) => limit.waitMs(nowMs)
    this.#polling = poll({
      runtime,
      initial: [],
      round: () =>
        concat(
          rateGate(waitMs, runtime.scheduler),
          defer(() => (this.#probe === null ? this.#stream() : this.#probeFeeds(this.#probe))),
        ),
      pauseMs: () => 0,
      failed: (cause) => ({ batch: [], pauseMs: this.#failed(cause) }),
    }).subscribe()
  }

  stop(): void {
    this.#polling.unsubscribe()
  }

  /** One connection, until it fails. */
  #stream(): Observable<never> {
    const { feeds, headers, runtime } = this.#options
    const { follow, scheduler } = runtime
    const events = new EventStream(UPDATE_CHARS_MAX)
    this.#openedMs = scheduler.now()
    this.#lastPriceMs = this.#openedMs
    const closed = () => new OperatingError('stream_closed', 'the server closed the stream')
    const body = follow(this.#url('stream', [...feeds.keys()]), headers)
    const check = interval(CHECK_PERIOD_MS, scheduler).pipe(tap(() => this.#checkGap()))
    return merge(
      concat(body.pipe(tap((piece) => this.#read(events, piece))), throwError(closed)),
      check,
    ).pipe(ignoreElements())
  }

  #checkGap(): void {
    if (this.#options.runtime.scheduler.now() - this.#lastPriceMs < PRICE_GAP_MS_MAX) return
    this.#state = 'down'
    throw new OperatingError('feed_silent', `no price for ${PRICE_GAP_MS_MAX / 1_000} s`)
  }

  #read(events: EventStream, piece: string): void {
    const { runtime, onPrices, onState, onIssue } = this.#options
    const nowMs = runtime.scheduler.now()
    const oversized = events.oversized
    for (const { type, data } of events.push(piece)) {
      if (type !== 'message') {
        onIssue({ kind: 'stream_event', detail: `${type}: ${data.slice(0, 200)}` })
        continue
      }
      const { prices, issues } = decodeUpdate(data, nowMs)
      for (const issue of issues) onIssue(issue)
      if (!prices.some(({ publishedMs }) => nowMs - publishedMs <= PUBLISHED_MS_MAX)) continue
      this.#lastPriceMs = nowMs
      this.#mirrors.succeeded()
      const wasUp = this.#state === 'up'
      this.#state = 'up'
      if (!wasUp) onState('')
      onPrices(prices)
    }
    const count = events.oversized - oversized
    if (count > 0)
      onIssue({ kind: 'oversized', detail: `${count} events above ${UPDATE_CHARS_MAX} characters` })
  }

  /** A refused stream has no body that names the feed; the same request for the latest prices has. */
  #probeFeeds({ ids, refused }: Probe): Observable<Batch> {
    const { headers, runtime } = this.#options
    const { get, scheduler } = runtime
    const url = this.#url('latest', ids)
    return withReplyTimeout(get(url, headers), PROBE_MS_MAX, scheduler).pipe(
      map((reply) => {
        this.#readProbe(reply, url, { ids, refused })
        return []
      }),
    )
  }

  #readProbe({ status, body }: HttpReply, url: string, { ids, refused }: Probe): void {
    const { onExcluded, onIssue } = this.#options
    const named = status === 403 || status === 404 ? refusedFeed(body) : null
    if (named !== null && ids.includes(named)) {
      onIssue({ kind: 'feed_refused', detail: body.slice(0, 200) })
      const others = ids.filter((id) => id !== named)
      this.#probe = { ids: others, refused: [...refused, named] }
      if (others.length === 0) onExcluded(this.#probe.refused)
    } else if (refused.length > 0) onExcluded(refused)
    else if (status === 200)
      throw new OperatingError('stream_refused', 'the server refuses the stream, but no feed of it')
    else throw new HttpStatusError(status, url)
  }

  /** @returns the pause before the next attempt */
  #failed(cause: unknown): number {
    const { feeds, headers, limit, runtime, onIssue, onRefused, onState } = this.#options
    const nowMs = runtime.scheduler.now()
    limit.observe(cause, nowMs, runtime.random())
    const status = cause instanceof HttpStatusError ? cause.status : null
    const isKeyed = headers['authorization'] !== undefined
    const mayConcernFeeds = status === 404 || (status === 403 && isKeyed)
    if (this.#probe === null && mayConcernFeeds) {
      this.#probe = { ids: [...feeds.keys()], refused: [] }
      return 0
    }
    this.#probe = null
    const isStable = this.#state === 'up' && nowMs - this.#openedMs >= STABLE_MS
    this.#failures = isStable ? 0 : this.#failures + 1
    const { url } = this.#mirrors
    const failures = Math.max(1, this.#failures)
    const pauseMs = this.#mirrors.failed(cause, failures, runtime.random())
    if (isStable) this.#mirrors.restart()
    if (this.#mirrors.isBlocked && status !== null) {
      onRefused(status)
      return pauseMs
    }
    onIssue({ kind: 'stream_ended', detail: failureDetail(url, cause, failures, pauseMs) })
    if (!isStable) this.#state = 'down'
    onState(publicReason(cause))
    return pauseMs
  }

  #url(path: 'stream' | 'latest', ids: readonly string[]): string {
    const query = ids.map((id) => `ids[]=${id}`).join('&')
    // The proof is not used; base64 is the shorter encoding.
    return (
      `${this.#mirrors.url}/v2/updates/price/${path}?${query}` +
      '&encoding=base64&parsed=true&ignore_invalid_price_ids=true' +
      (path === 'stream' ? STREAM_QUERY : '')
    )
  }
}
