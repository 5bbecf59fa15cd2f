import { Observable, Subscription, throwError, timeout } from 'rxjs'
import { backOffMs } from '../../domain/back-off.ts'
import { OperatingError } from '../../domain/errors.ts'
import type { Batch } from '../../domain/event.ts'
import type { ExternalEvent, SourceId } from '../../domain/external.ts'
import type { ExternalRuntime, HttpReply } from '../runtime.ts'
import { failureWords } from './failure-words.ts'
import type { Source, SourceAddress, SourceContext, SourceNotice } from './source.ts'
import { ToldStatus } from './told-status.ts'

/** Something in a reply that was passed over. */
export type Finding = Omit<SourceNotice, 'source'>

export type Decoded = {
  readonly events: readonly ExternalEvent[]
  readonly findings: readonly Finding[]
}

/** A source that tells the present when it is asked. */
export type Poll = {
  readonly source: SourceId
  /** Below its address, from the slash on. */
  readonly path: string
  readonly periodMs: number
  readonly backOff: { readonly minMs: number; readonly maxMs: number }
  /** Never throws; a reply without events counts as a failure. */
  readonly decode: (body: string, nowMs: number, assets: readonly string[]) => Decoded
}

export const USUAL_BACK_OFF = { minMs: 1_000, maxMs: 60_000 } as const

/** The whole exchange, however slowly the other side sends. */
const REPLY_MS_MAX = 30_000
const OK = 200
const TOO_MANY_REQUESTS = 429
const THROTTLED_MS = 60_000
/** It knows us and says no. */
const REFUSALS: ReadonlySet<number> = new Set([401, 403, 451])
const REFUSED_MS = 4 * 3_600_000
/** So that many clients do not ask in step. */
const PERIOD_JITTER = 0.1

/**
 * Asks one address after the other until one answers, and stays with that one. One request is under way
 * at a time.
 */
export function polledSource(poll: Poll): Source {
  return (address, context, runtime) =>
    new Observable<Batch>((subscriber) => {
      const tell = (batch: Batch) => {
        if (batch.length > 0) subscriber.next(batch)
      }
      const poller = new Poller(poll, address, context, runtime, tell)
      poller.start()
      return () => poller.stop()
    })
}

class Poller {
  readonly #poll: Poll
  readonly #urls: readonly string[]
  readonly #context: SourceContext
  readonly #runtime: ExternalRuntime
  readonly #tell: (batch: Batch) => void
  readonly #status: ToldStatus
  #timer = Subscription.EMPTY
  #request = Subscription.EMPTY
  #mirror = 0
  #failures = 0
  /** In a row, each by another address. */
  #refusals = 0

  constructor(
    poll: Poll,
    address: SourceAddress,
    context: SourceContext,
    runtime: ExternalRuntime,
    tell: (batch: Batch) => void,
  ) {
    this.#poll = poll
    this.#urls = address.urls.map((url) => url.replace(/\/+$/, ''))
    this.#context = context
    this.#runtime = runtime
    this.#tell = tell
    this.#status = new ToldStatus(poll.source)
  }

  start(): void {
    this.#tell(this.#status.tell('down', 'not asked yet', this.#runtime.scheduler.now()))
    this.#askAfter(0)
  }

  stop(): void {
    this.#timer.unsubscribe()
    this.#request.unsubscribe()
  }

  #askAfter(delayMs: number): void {
    this.#timer = this.#runtime.scheduler.schedule(() => this.#ask(), delayMs)
  }

  #ask(): void {
    const { get, scheduler } = this.#runtime
    const late = () => new OperatingError('request_timeout', 'no answer in time')
    this.#request = get(`${this.#urls[this.#mirror]}${this.#poll.path}`)
      .pipe(timeout({ first: REPLY_MS_MAX, scheduler, with: () => throwError(late) }))
      .subscribe({
        next: (reply) => this.#answered(reply),
        error: (cause: unknown) => this.#broke(cause),
      })
  }

  #answered({ status, body }: HttpReply): void {
    if (REFUSALS.has(status)) this.#refused(status)
    else if (status === TOO_MANY_REQUESTS) this.#failed('asked too often', THROTTLED_MS)
    else if (status !== OK) this.#failed(`HTTP ${status}`)
    else this.#take(body)
  }

  #take(body: string): void {
    const { periodMs, decode } = this.#poll
    const nowMs = this.#runtime.scheduler.now()
    const { events, findings } = decode(body, nowMs, this.#context.assets())
    for (const finding of findings) this.#note(finding)
    if (events.length === 0) {
      this.#failed('nothing usable in the answer')
      return
    }
    this.#failures = 0
    this.#refusals = 0
    this.#tell([...this.#status.tell('up', '', nowMs), ...events])
    this.#askAfter(periodMs * (1 + PERIOD_JITTER * this.#runtime.random()))
  }

  #refused(status: number): void {
    this.#refusals += 1
    if (this.#refusals < this.#urls.length) {
      this.#failed(`HTTP ${status}`)
      return
    }
    this.#refusals = 0
    this.#note({ kind: 'refused', detail: `HTTP ${status}` })
    const nowMs = this.#runtime.scheduler.now()
    this.#tell(this.#status.tell('blocked', `HTTP ${status}`, nowMs))
    this.#mirror = 0
    this.#askAfter(REFUSED_MS * (1 + PERIOD_JITTER * this.#runtime.random()))
  }

  #broke(cause: unknown): void {
    const { reason, detail } = failureWords(cause)
    this.#failed(reason, 0, detail)
  }

  /** The next address is asked next. It is `down` once every one of them has failed. */
  #failed(reason: string, atLeastMs = 0, detail = reason): void {
    const { scheduler, random } = this.#runtime
    this.#failures += 1
    this.#note({ kind: 'request_failed', detail })
    this.#mirror = (this.#mirror + 1) % this.#urls.length
    if (this.#failures >= this.#urls.length)
      this.#tell(this.#status.tell('down', reason, scheduler.now()))
    const delayMs = backOffMs(this.#poll.backOff, this.#failures, random())
    this.#askAfter(Math.max(atLeastMs, delayMs))
  }

  #note(finding: Finding): void {
    this.#context.onNotice({ source: this.#poll.source, ...finding })
  }
}
