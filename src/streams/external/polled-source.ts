import type { Observable } from 'rxjs'
import { defer, map } from 'rxjs'
import { OperatingError } from '../../domain/errors.ts'
import type { Batch } from '../../domain/event.ts'
import type { ExternalEvent, SourceId } from '../../domain/external.ts'
import { HttpStatusError } from '../http-exchange.ts'
import type { ExternalRuntime, HttpReply } from '../runtime.ts'
import { poll } from './polling.ts'
import {
  failureDetail,
  isRefusal,
  jittered,
  reasonOf,
  refusedMs,
  retryMs,
  throttledMs,
  withTimeout,
} from './retry.ts'
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
  /** After a failure, where the usual second is too short. */
  readonly retryMsMin?: number
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
  readonly #urls: readonly string[]
  readonly #context: SourceContext
  readonly #runtime: ExternalRuntime
  /** Index of the address in use. */
  #mirror = 0
  /** In a row, each by another address. */
  #refusals = 0

  constructor(
    polled: PolledSource,
    { urls }: SourceAddress,
    context: SourceContext,
    runtime: ExternalRuntime,
  ) {
    this.status = new SourceStatus(polled.source)
    this.#polled = polled
    this.#urls = urls.map((url) => url.replace(/\/+$/, ''))
    this.#context = context
    this.#runtime = runtime
  }

  request(): Observable<Batch> {
    const { get, scheduler } = this.#runtime
    const url = `${this.#urls[this.#mirror]}${this.#polled.path}`
    return withTimeout(get(url), REPLY_MS_MAX, scheduler).pipe(
      map((reply) => this.#read(reply, url)),
    )
  }

  failed(cause: unknown, failures: number): { readonly batch: Batch; readonly pauseMs: number } {
    const { scheduler, random } = this.#runtime
    const nowMs = scheduler.now()
    const reason = reasonOf(cause)
    this.#refusals = isRefusal(cause) ? this.#refusals + 1 : 0
    const isRefused = this.#refusals >= this.#urls.length
    const pauseMs = isRefused
      ? refusedMs(random())
      : Math.max(throttledMs(cause), retryMs(failures, random(), this.#polled.retryMsMin))
    const kind = isRefused ? 'refused' : 'request_failed'
    this.#note({ kind, detail: failureDetail(this.#urls[this.#mirror] ?? '', cause, pauseMs) })
    this.#mirror = isRefused ? 0 : (this.#mirror + 1) % this.#urls.length
    if (isRefused) {
      this.#refusals = 0
      return { batch: this.status.set('blocked', `${reason} from every address`, nowMs), pauseMs }
    }
    const isDown = failures >= this.#urls.length
    return { batch: isDown ? this.status.set('down', reason, nowMs) : [], pauseMs }
  }

  #read({ status, body }: HttpReply, url: string): Batch {
    if (status !== OK) throw new HttpStatusError(status, url)
    const nowMs = this.#runtime.scheduler.now()
    const { events, issues } = this.#polled.decode(body, nowMs, this.#context.assets())
    for (const issue of issues) this.#note(issue)
    if (events.length === 0)
      throw new OperatingError('no_usable_value', `${this.#polled.source}: no usable value`)
    this.#refusals = 0
    return [...this.status.set('up', '', nowMs), ...events]
  }

  #note(issue: DecodeIssue): void {
    this.#context.onNotice({ source: this.#polled.source, ...issue })
  }
}
