import type { Observable } from 'rxjs'
import { defer, EMPTY, filter, ignoreElements, interval, map, merge, of, tap, timer } from 'rxjs'
import { OperatingError } from '../../../domain/errors.ts'
import type { Batch } from '../../../domain/event.ts'
import type { ExternalRuntime } from '../../runtime.ts'
import { Mirrors } from '../mirrors.ts'
import { poll } from '../polling.ts'
import { failureDetail, publicReason } from '../retry.ts'
import type { ExternalSource, SourceAddress, SourceContext } from '../source.ts'
import { SourceStatus } from '../source-status.ts'
import type { ExchangeProtocol } from './protocol.ts'
import { QuoteBook } from './quote-book.ts'
import type { ExchangeState } from './quote-session.ts'
import { QUOTES_MISSING, QuoteSession, RENEWAL } from './quote-session.ts'

/** The failure of a connection that delivered quotes for this long counts as the first. */
const STABLE_MS = 60_000

/** Four requests a second; the strictest exchange, Binance, accepts five. */
const SEND_PERIOD_MS = 250
const PING_PERIOD_MS = 10_000
/** The newest quote of each product is emitted this often. */
const EMIT_PERIOD_MS = 250

/** Best bids and asks of one exchange over its WebSocket. */
export function exchangeSource(protocol: ExchangeProtocol): ExternalSource {
  return (address, context, runtime) =>
    defer(() => {
      const client = new ExchangeClient(protocol, address, context, runtime)
      return poll({
        runtime,
        initial: client.status.set('down', 'connecting', runtime.scheduler.now()),
        round: () => client.connect(),
        pauseMs: () => 0,
        failed: (cause) => client.failed(cause),
      })
    })
}

class ExchangeClient {
  readonly status: SourceStatus
  readonly #state: ExchangeState
  readonly #runtime: ExternalRuntime
  readonly #mirrors: Mirrors
  #session: QuoteSession | null = null
  #failures = 0

  constructor(
    protocol: ExchangeProtocol,
    { urls }: SourceAddress,
    context: SourceContext,
    runtime: ExternalRuntime,
  ) {
    const { exchange } = protocol
    this.status = new SourceStatus(exchange)
    this.#state = { protocol, context, quotes: new QuoteBook(exchange), refusals: new Map() }
    this.#runtime = runtime
    this.#mirrors = new Mirrors(urls)
  }

  /** One connection, until it fails. */
  connect(): Observable<Batch> {
    const { connect, random, scheduler } = this.#runtime
    const { opening, path, ping } = this.#state.protocol
    const session = new QuoteSession(this.#state, scheduler.now(), random())
    this.#session = session
    const requests = timer(0, SEND_PERIOD_MS, scheduler).pipe(
      map(() => session.nextRequest(scheduler.now())),
      filter((request) => request !== null),
    )
    const pings = ping === null ? EMPTY : interval(PING_PERIOD_MS, scheduler).pipe(map(() => ping))
    const outbound = merge(of(...opening), requests, pings)
    const frames = connect(`${this.#mirrors.url}${path}`, outbound).pipe(
      tap((text) => session.receive(text, scheduler.now())),
      ignoreElements(),
    )
    const batches = interval(EMIT_PERIOD_MS, scheduler).pipe(
      map(() => this.#batchOf(session, scheduler.now())),
    )
    return merge(frames, batches)
  }

  /** A renewed connection changes no status, unless the next one fails. */
  failed(cause: unknown): { readonly batch: Batch; readonly pauseMs: number } {
    const { scheduler, random } = this.#runtime
    const { context, protocol, quotes } = this.#state
    const nowMs = scheduler.now()
    const { url } = this.#mirrors
    const code = cause instanceof OperatingError ? cause.code : null
    const isStable = (this.#session?.quotingMs ?? 0) >= STABLE_MS
    this.#failures = isStable ? 1 : this.#failures + 1
    const pauseMs = this.#mirrors.failed(cause, this.#failures, random())
    if (isStable && code !== QUOTES_MISSING) this.#mirrors.restart()
    const detail = failureDetail(url, cause, this.#failures, pauseMs)
    context.onNotice({ source: protocol.exchange, kind: 'reconnect', detail })
    const state = this.#mirrors.isBlocked ? 'blocked' : 'down'
    const status = code === RENEWAL ? [] : this.status.set(state, publicReason(cause), nowMs)
    return { batch: [...quotes.drain(), ...status], pauseMs }
  }

  #batchOf(session: QuoteSession, nowMs: number): Batch {
    session.check(nowMs)
    const health = session.health(nowMs)
    const status = health === null ? [] : this.status.set(health.state, health.reason, nowMs)
    return [...status, ...this.#state.quotes.drain()]
  }
}
