import type { Observable } from 'rxjs'
import {
  catchError,
  concat,
  defer,
  EMPTY,
  filter,
  ignoreElements,
  interval,
  map,
  merge,
  of,
  retry,
  tap,
  throwError,
  timer,
} from 'rxjs'
import { backOffMs } from '../../../domain/back-off.ts'
import { OperatingError } from '../../../domain/errors.ts'
import type { Batch } from '../../../domain/event.ts'
import { HttpStatusError } from '../../http-exchange.ts'
import type { ExternalRuntime } from '../../runtime.ts'
import type { ExternalSource, SourceAddress } from '../source.ts'
import { SourceStatus } from '../source-status.ts'
import type { Shared } from './conversation.ts'
import { Conversation, RENEWAL } from './conversation.ts'
import type { ExchangeProtocol } from './protocol.ts'
import { QuoteBook } from './quote-book.ts'

const BACK_OFF = { minMs: 1_000, maxMs: 60_000 }
/** A connection that lived so long was a good one: the next failure counts as the first. */
const STABLE_MS = 60_000
/** Whoever blocks a region or an address does so for long. */
const BLOCKED_MS_MIN = 14_400_000
const BLOCKED_MS_SPAN = 3_600_000
/** Forbidden, and unavailable for legal reasons. */
const BLOCKED_STATUSES: readonly number[] = [403, 451]

/** One request at a time, four a second: the strictest exchange takes five. */
const SEND_PERIOD_MS = 250
const PING_PERIOD_MS = 10_000
/** Of all quotes of a product in so long, the last one is told. */
const TELL_PERIOD_MS = 250

/** Listens to the best bids and asks of one exchange. */
export function exchangeSource(protocol: ExchangeProtocol): ExternalSource {
  return (address, context, runtime) =>
    defer(() => {
      const shared: Listening = {
        protocol,
        context,
        quotes: new QuoteBook(protocol.exchange),
        refusals: new Map(),
        address,
        runtime,
        status: new SourceStatus(protocol.exchange),
        outages: new Outages(address.urls.length),
      }
      const first = shared.status.set('down', 'connecting', runtime.scheduler.now())
      return concat(of(first), endless(shared))
    })
}

type Listening = Shared & {
  readonly address: SourceAddress
  readonly runtime: ExternalRuntime
  readonly status: SourceStatus
  readonly outages: Outages
}

function endless(listening: Listening): Observable<Batch> {
  const { context, outages, protocol, runtime } = listening
  const { scheduler, random } = runtime
  return defer(() => {
    outages.connecting(scheduler.now())
    return oneConnection(listening)
  }).pipe(
    catchError((cause: unknown) => {
      outages.add(cause, scheduler.now())
      return concat(
        of(lost(listening, cause)).pipe(filter((batch) => batch.length > 0)),
        throwError(() => cause),
      )
    }),
    retry({
      delay: (cause: unknown) => {
        const delayMs = outages.delayMs(random())
        const detail = `${codeOf(cause)}, again in ${Math.round(delayMs / 1_000)} s`
        context.onNotice({ source: protocol.exchange, kind: 'reconnect', detail })
        return timer(delayMs, scheduler)
      },
    }),
  )
}

/** From the opening of one socket to the error that ends it. */
function oneConnection(listening: Listening): Observable<Batch> {
  const { address, outages, protocol, quotes, runtime, status } = listening
  const { connect, random, scheduler } = runtime
  const conversation = new Conversation(listening, scheduler.now(), random())
  const { opening, path, ping } = protocol

  const requests = timer(0, SEND_PERIOD_MS, scheduler).pipe(
    map(() => conversation.next(scheduler.now())),
    filter((request) => request !== null),
  )
  const pings = ping === null ? EMPTY : interval(PING_PERIOD_MS, scheduler).pipe(map(() => ping))
  const url = `${address.urls[outages.next] ?? ''}${path}`
  const frames = connect(url, merge(of(...opening), requests, pings)).pipe(
    tap((text) => conversation.hear(text, scheduler.now())),
    ignoreElements(),
  )
  const told = interval(TELL_PERIOD_MS, scheduler).pipe(
    map((): Batch => {
      const nowMs = scheduler.now()
      conversation.check(nowMs)
      const health = conversation.health(nowMs)
      const word = health === null ? [] : status.set(health.state, health.reason, nowMs)
      return [...word, ...quotes.drain()]
    }),
    filter((batch) => batch.length > 0),
  )
  return merge(frames, told)
}

/**
 * What was still untold, and how the source is now. The replacement of a connection that only got old is
 * not worth a word, unless it fails.
 */
function lost({ outages, quotes, runtime, status }: Listening, cause: unknown): Batch {
  const untold = quotes.drain()
  if (codeOf(cause) === RENEWAL) return untold
  const state = outages.isBlocked ? 'blocked' : 'down'
  return [...untold, ...status.set(state, reasonOf(cause), runtime.scheduler.now())]
}

/** What went wrong in a row, and what follows from it: where to try next, and when. */
class Outages {
  readonly #urls: number
  #connectedMs = 0
  #failures = 0
  #refusals = 0
  #next = 0

  constructor(urls: number) {
    this.#urls = urls
  }

  /** Which address to take: the first, and the others in turn while it fails. */
  get next(): number {
    return this.#next
  }

  /** Every address refuses us; from then on each is tried alone, after hours. */
  get isBlocked(): boolean {
    return this.#refusals >= this.#urls
  }

  connecting(nowMs: number): void {
    this.#connectedMs = nowMs
  }

  add(cause: unknown, nowMs: number): void {
    const isStable = nowMs - this.#connectedMs >= STABLE_MS
    this.#failures = isStable ? 1 : this.#failures + 1
    this.#next = isStable ? 0 : (this.#next + 1) % this.#urls
    const isRefusal = cause instanceof HttpStatusError && BLOCKED_STATUSES.includes(cause.status)
    this.#refusals = isRefusal ? this.#refusals + 1 : 0
  }

  /** @param chance uniform in [0, 1) */
  delayMs(chance: number): number {
    if (this.isBlocked) return BLOCKED_MS_MIN + chance * BLOCKED_MS_SPAN
    return backOffMs(BACK_OFF, this.#failures, chance)
  }
}

function codeOf(cause: unknown): string {
  return cause instanceof OperatingError ? cause.code : 'internal_error'
}

function reasonOf(cause: unknown): string {
  return cause instanceof HttpStatusError ? `http_${cause.status}` : codeOf(cause)
}
