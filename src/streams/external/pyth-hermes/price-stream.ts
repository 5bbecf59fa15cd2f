import { Subscription, throwError, timeout } from 'rxjs'
import { OperatingError } from '../../../domain/errors.ts'
import { HttpStatusError } from '../../http-exchange.ts'
import type { ExternalRuntime, HttpHeaders, HttpReply } from '../../runtime.ts'
import { describeFailure, retryMs } from '../retry.ts'
import type { DecodeIssue } from '../source.ts'
import type { PythPrice } from './decode.ts'
import { decodeUpdate, refusedFeed, UPDATE_CHARS_MAX } from './decode.ts'
import { EventStream } from './event-stream.ts'
import type { Feeds } from './feed-chunks.ts'
import type { RequestGate } from './request-gate.ts'

/** Several times a second a healthy stream says something. */
const SILENCE_MS_MAX = 15_000
const WATCH_PERIOD_MS = 5_000
/** What has lived so long has not failed: the server ends every stream after a day. */
const LIFE_MS_MIN = 60_000
const PROBE_MS_MAX = 30_000

export type StreamState = 'opening' | 'up' | 'down'

export type PriceStreamOptions = {
  readonly feeds: Feeds
  /** Of the servers, in order of preference, without a slash at the end. */
  readonly urls: readonly string[]
  readonly headers: HttpHeaders
  readonly gate: RequestGate
  readonly runtime: ExternalRuntime
  readonly onPrices: (prices: readonly PythPrice[]) => void
  readonly onState: (reason: string) => void
  /** These feeds cannot be had; without them the others can. */
  readonly onExcluded: (ids: readonly string[]) => void
  /** Every server refuses us; nothing more is asked. */
  readonly onRefused: (status: number) => void
  readonly onIssue: (issue: DecodeIssue) => void
}

/** One stream of prices of some feeds, opened again whenever it ends, until it is stopped. */
export class PriceStream {
  readonly #options: PriceStreamOptions
  #state: StreamState = 'opening'
  #timer = Subscription.EMPTY
  #watch = Subscription.EMPTY
  #exchange = Subscription.EMPTY
  #events = new EventStream(UPDATE_CHARS_MAX)
  #oversizedTold = 0
  #openedMs = 0
  #heardMs = 0
  #failures = 0
  /** In a row, each by another server. */
  #refusals = 0

  constructor(options: PriceStreamOptions) {
    this.#options = options
  }

  get state(): StreamState {
    return this.#state
  }

  start(): void {
    this.#after(0, () => this.#open())
  }

  stop(): void {
    for (const one of [this.#timer, this.#watch, this.#exchange]) one.unsubscribe()
  }

  /** As soon as the gate lets one pass. */
  #after(delayMs: number, task: () => void): void {
    const { gate, runtime } = this.#options
    this.#timer = runtime.scheduler.schedule(() => {
      const waitMs = gate.waitMs(runtime.scheduler.now())
      if (waitMs === 0) task()
      else this.#after(waitMs, task)
    }, delayMs)
  }

  #open(): void {
    const { feeds, headers, runtime } = this.#options
    this.#events = new EventStream(UPDATE_CHARS_MAX)
    this.#oversizedTold = 0
    this.#openedMs = runtime.scheduler.now()
    this.#heardMs = this.#openedMs
    this.#watchFrom(WATCH_PERIOD_MS)
    this.#exchange = runtime.follow(this.#url('stream', [...feeds.keys()]), headers).subscribe({
      next: (piece) => this.#read(piece),
      error: (cause: unknown) => this.#broke(cause),
      complete: () => this.#ended('closed by the server'),
    })
  }

  #url(what: 'stream' | 'latest', ids: readonly string[]): string {
    const { urls } = this.#options
    const asked = ids.map((id) => `ids[]=${id}`).join('&')
    // The proof is not looked at; base64 is the shorter one.
    return (
      `${urls[this.#failures % urls.length]}/v2/updates/price/${what}?${asked}` +
      '&encoding=base64&parsed=true&ignore_invalid_price_ids=true' +
      (what === 'stream' ? '&allow_unordered=false&benchmarks_only=false' : '')
    )
  }

  #watchFrom(delayMs: number): void {
    const { scheduler } = this.#options.runtime
    this.#watch = scheduler.schedule(() => {
      if (scheduler.now() - this.#heardMs < SILENCE_MS_MAX) this.#watchFrom(WATCH_PERIOD_MS)
      else {
        this.#exchange.unsubscribe()
        this.#state = 'down'
        this.#ended('silent')
      }
    }, delayMs)
  }

  #read(piece: string): void {
    const { runtime, onPrices, onState, onIssue } = this.#options
    const nowMs = runtime.scheduler.now()
    for (const { type, data } of this.#events.push(piece)) {
      if (type !== 'message') {
        onIssue({ kind: 'stream_event', detail: `${type}: ${data.slice(0, 200)}` })
        continue
      }
      const { prices, issues } = decodeUpdate(data, nowMs)
      for (const issue of issues) onIssue(issue)
      if (prices.length === 0) continue
      this.#heardMs = nowMs
      this.#refusals = 0
      const wasUp = this.#state === 'up'
      this.#state = 'up'
      if (!wasUp) onState('')
      onPrices(prices)
    }
    for (; this.#oversizedTold < this.#events.oversized; this.#oversizedTold += 1)
      onIssue({ kind: 'oversized', detail: `an event beyond ${UPDATE_CHARS_MAX} characters` })
  }

  #broke(cause: unknown): void {
    if (cause instanceof HttpStatusError) {
      this.#refused(cause.status)
      return
    }
    const { reason, detail } = describeFailure(cause)
    this.#ended(reason, detail)
  }

  #refused(status: number): void {
    const { gate, headers, feeds, runtime, urls, onRefused } = this.#options
    this.#watch.unsubscribe()
    const isKeyed = headers['authorization'] !== undefined
    if (status === 429) gate.throttle(runtime.scheduler.now(), runtime.random())
    else if (status === 404 || (status === 403 && isKeyed)) {
      this.#after(0, () => this.#probe([...feeds.keys()], []))
      return
    } else if (status === 401 || status === 403 || status === 451) {
      this.#refusals += 1
      if (this.#refusals >= urls.length) {
        onRefused(status)
        return
      }
    }
    this.#ended(`HTTP ${status}`)
  }

  /** A stream says nothing about its refusal, but the same question for the present does, one feed at a time. */
  #probe(ids: readonly string[], excluded: readonly string[]): void {
    const { headers, runtime } = this.#options
    const { get, scheduler } = runtime
    const late = () => new OperatingError('request_timeout', 'no answer in time')
    this.#exchange = get(this.#url('latest', ids), headers)
      .pipe(timeout({ first: PROBE_MS_MAX, scheduler, with: () => throwError(late) }))
      .subscribe({
        next: (reply) => this.#probed(reply, ids, excluded),
        error: (cause: unknown) => this.#broke(cause),
      })
  }

  #probed({ status, body }: HttpReply, ids: readonly string[], excluded: readonly string[]): void {
    const { onExcluded, onIssue } = this.#options
    const named = status === 403 || status === 404 ? refusedFeed(body) : null
    if (named !== null && ids.includes(named)) {
      onIssue({ kind: 'feed_refused', detail: body.slice(0, 200) })
      const others = ids.filter((id) => id !== named)
      const known = [...excluded, named]
      if (others.length > 0) this.#after(0, () => this.#probe(others, known))
      else onExcluded(known)
    } else if (excluded.length > 0) onExcluded(excluded)
    else if (status === 403) this.#refusedWholly(status)
    else this.#ended(status === 200 ? 'refused, but not for its feeds' : `HTTP ${status}`)
  }

  #refusedWholly(status: number): void {
    this.#refusals += 1
    if (this.#refusals >= this.#options.urls.length) this.#options.onRefused(status)
    else this.#ended(`HTTP ${status}`)
  }

  /** The end of what has lived is no failure: the server renews every stream once a day. */
  #ended(reason: string, detail = reason): void {
    const { runtime, onState, onIssue } = this.#options
    this.#watch.unsubscribe()
    const livedMs = runtime.scheduler.now() - this.#openedMs
    this.#failures = livedMs >= LIFE_MS_MIN && this.#state === 'up' ? 0 : this.#failures + 1
    onIssue({ kind: 'stream_ended', detail })
    if (this.#failures > 0) this.#state = 'down'
    onState(reason)
    const delayMs = retryMs(Math.max(1, this.#failures), runtime.random())
    this.#after(delayMs, () => this.#open())
  }
}
