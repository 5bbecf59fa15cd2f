import type { Subscriber } from 'rxjs'
import { NEVER, Observable, VirtualTimeScheduler } from 'rxjs'
import { OperatingError } from '../../../domain/errors.ts'
import type { MarketEvent } from '../../../domain/event.ts'
import type { SourceStatusEvent } from '../../../domain/external.ts'
import { HttpStatusError } from '../../http-exchange.ts'
import type { ExternalRuntime, HttpHeaders, HttpReply } from '../../runtime.ts'
import type { ExternalSource, SourceNotice } from '../source.ts'

export const START_MS = Date.UTC(2026, 10, 20)
const LATENCY_MS = 50

type Asked = {
  readonly url: string
  readonly atMs: number
  readonly headers: HttpHeaders
  readonly isStream: boolean
}

/** One body that does not end, seen from the server. */
export class ScriptedBody {
  readonly url: string
  isAborted = false
  readonly #subscriber: Subscriber<string>

  constructor(url: string, subscriber: Subscriber<string>) {
    this.url = url
    this.#subscriber = subscriber
  }

  send(piece: string): void {
    this.#subscriber.next(piece)
  }

  end(): void {
    this.#subscriber.complete()
  }

  fail(): void {
    this.#subscriber.error(new OperatingError('request_failed', 'reset by the server'))
  }
}

/** A scripted network in virtual time: it answers every URL and records all requests. */
export class ScriptedWeb {
  readonly asked: Asked[] = []
  readonly bodies: ScriptedBody[] = []
  readonly events: MarketEvent[] = []
  readonly notices: SourceNotice[] = []
  assets: readonly string[] = []
  /** 'fail' breaks the connection, 'hang' never answers; for a stream any other status than 200 refuses it. */
  answer: (url: string) => HttpReply | 'fail' | 'hang' = () => ({ status: 200, body: '' })
  chance = 0.5
  readonly #scheduler = new VirtualTimeScheduler()

  constructor() {
    this.#scheduler.frame = START_MS
  }

  get nowMs(): number {
    return this.#scheduler.now()
  }

  get open(): readonly ScriptedBody[] {
    return this.bodies.filter(({ isAborted }) => !isAborted)
  }

  get statuses(): readonly SourceStatusEvent[] {
    return this.of('source-status')
  }

  of<Kind extends MarketEvent['kind']>(
    kind: Kind,
  ): readonly Extract<MarketEvent, { kind: Kind }>[] {
    return this.events.filter(
      (event): event is Extract<MarketEvent, { kind: Kind }> => event.kind === kind,
    )
  }

  /** @returns a function that unsubscribes */
  play(source: ExternalSource, urls: readonly string[], key?: string): () => void {
    const context = {
      assets: () => this.assets,
      onNotice: (notice: SourceNotice) => this.notices.push(notice),
    }
    const address = { urls, ...(key !== undefined && { key }) }
    const subscription = source(address, context, this.#runtime).subscribe((batch) =>
      this.events.push(...batch),
    )
    return () => subscription.unsubscribe()
  }

  advance(byMs: number): void {
    const untilMs = this.nowMs + byMs
    this.#scheduler.maxFrames = untilMs
    this.#scheduler.flush()
    this.#scheduler.frame = untilMs
  }

  readonly #runtime: ExternalRuntime = {
    scheduler: this.#scheduler,
    random: () => this.chance,
    connect: () => NEVER,
    post: () => NEVER,
    get: (url, headers = {}) =>
      this.#asked(url, headers, false, (subscriber: Subscriber<HttpReply>, reply) => {
        subscriber.next(reply)
        subscriber.complete()
      }),
    follow: (url, headers = {}) =>
      this.#asked(url, headers, true, (subscriber: Subscriber<string>, { status }) => {
        if (status !== 200) {
          subscriber.error(new HttpStatusError(status, url))
          return
        }
        const body = new ScriptedBody(url, subscriber)
        this.bodies.push(body)
        subscriber.add(() => {
          body.isAborted = true
        })
      }),
  }

  #asked<T>(
    url: string,
    headers: HttpHeaders,
    isStream: boolean,
    give: (subscriber: Subscriber<T>, reply: HttpReply) => void,
  ): Observable<T> {
    return new Observable<T>((subscriber) => {
      this.asked.push({ url, headers, isStream, atMs: this.nowMs })
      return this.#scheduler.schedule(() => {
        const reply = this.answer(url)
        if (reply === 'fail')
          subscriber.error(new OperatingError('request_failed', `${url}: refused`))
        else if (reply !== 'hang') give(subscriber, reply)
      }, LATENCY_MS)
    })
  }
}
