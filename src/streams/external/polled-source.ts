import type { Observable } from 'rxjs'
import { defer, map } from 'rxjs'
import { OperatingError } from '../../domain/errors.ts'
import type { Batch } from '../../domain/event.ts'
import type { ExternalEvent, SourceId } from '../../domain/external.ts'
import { HttpStatusError } from '../http-exchange.ts'
import type { ExternalRuntime, HttpReply } from '../runtime.ts'
import { Mirrors } from './mirrors.ts'
import { poll } from './polling.ts'
import { failureDetail, jittered, publicReason, withReplyTimeout } from './retry.ts'
import type { DecodeIssue, ExternalSource, SourceAddress, SourceContext } from './source.ts'
import { SourceStatus } from './source-status.ts'

export type DecodedReply = {
  readonly events: readonly ExternalEvent[]
  readonly issues: readonly DecodeIssue[]
}

/** For a reply in which nothing could be decoded. */
export function undecodableReply(body: string): DecodedReply {
  return { events: [], issues: [{ kind: 'undecodable', detail: body.slice(0, 200) }] }
}

/** A source that answers one `GET` with its current values. */
type PolledSource = {
  readonly source: SourceId
  /** Appended to the address; begins with a slash. */
  readonly path: string
  readonly periodMs: number
  /** Minimum pause after a failure; one second by default. */
  readonly retryMsMin?: number
  /** If the newest value of a reply is older, another address is asked. */
  readonly lateMs?: number
  /** Never throws. A reply without events is a failure. */
  readonly decode: (body: string, nowMs: number, assets: readonly string[]) => DecodedReply
}

const REPLY_MS_MAX = 30_000
const OK = 200

/** Asks one address per round and moves on to the next one after a failure. */
export function polledSource(polled: PolledSource): ExternalSource {
  return (address, context, runtime) =>
    defer(() => {
      const client = new PolledClient(polled, address, context, runtime)
      const { scheduler, random } = runtime
      return poll({
        runtime,
        initial: client.status.set('down', 'no reply received yet', scheduler.now()),
        round: () => client.request(),
        pauseMs: () => jittered(polled.periodMs, random()),
        failed: (cause, failures) => client.failed(cause, failures),
      })
    })
}

class PolledClient {
  readonly status: SourceStatus
  readonly #polled: PolledSource
  readonly #mirrors: Mirrors
  readonly #context: SourceContext
  readonly #runtime: ExternalRuntime

  constructor(
    polled: PolledSource,
    { urls }: SourceAddress,
    context: SourceContext,
    runtime: ExternalRuntime,
  ) {
    this.status = new SourceStatus(polled.source)
    this.#polled = polled
    this.#mirrors = new Mirrors(urls)
    this.#context = context
    this.#runtime = runtime
  }

  request(): Observable<Batch> {
    const { get, scheduler } = this.#runtime
    const url = `${this.#mirrors.url}${this.#polled.path}`
    return withReplyTimeout(get(url), REPLY_MS_MAX, scheduler).pipe(
      map((reply) => this.#read(reply, url)),
    )
  }

  failed(cause: unknown, failures: number): { readonly batch: Batch; readonly pauseMs: number } {
    const { scheduler, random } = this.#runtime
    const { retryMsMin, source } = this.#polled
    const { url } = this.#mirrors
    const pauseMs = this.#mirrors.failed(cause, failures, random(), retryMsMin)
    const { isBlocked, count } = this.#mirrors
    const kind = isBlocked ? 'request_refused' : 'request_failed'
    this.#context.onNotice({ source, kind, detail: failureDetail(url, cause, failures, pauseMs) })
    const nowMs = scheduler.now()
    if (isBlocked)
      return {
        batch: this.status.set('blocked', `${publicReason(cause)} from every address`, nowMs),
        pauseMs,
      }
    const isDown = failures >= count
    return { batch: isDown ? this.status.set('down', publicReason(cause), nowMs) : [], pauseMs }
  }

  #read({ status, body }: HttpReply, url: string): Batch {
    if (status !== OK) throw new HttpStatusError(status, url)
    const nowMs = this.#runtime.scheduler.now()
    const { events, issues } = this.#polled.decode(body, nowMs, this.#context.assets())
    const { source, lateMs = Number.POSITIVE_INFINITY } = this.#polled
    for (const issue of issues) this.#context.onNotice({ source, ...issue })
    if (events.length === 0)
      throw new OperatingError('no_usable_value', 'the reply holds no usable value')
    this.#mirrors.succeeded()
    const newestMs = Math.max(...events.map(({ timeExchangeMs }) => timeExchangeMs))
    if (nowMs - newestMs <= lateMs) return [...this.status.set('up', '', nowMs), ...events]
    this.#mirrors.next()
    return [...this.status.set('degraded', 'no new values', nowMs), ...events]
  }
}
