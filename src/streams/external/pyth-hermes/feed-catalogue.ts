import { Subscription, throwError, timeout } from 'rxjs'
import { OperatingError } from '../../../domain/errors.ts'
import type { ExternalRuntime, HttpHeaders, HttpReply } from '../../runtime.ts'
import { describeFailure, retryMs } from '../retry.ts'
import type { DecodeIssue } from '../source.ts'
import type { FeedIds } from './decode.ts'
import { decodeCatalogue } from './decode.ts'
import { shippedFeedIds } from './feed-ids.ts'
import type { RequestGate } from './request-gate.ts'

const PERIOD_MS = 24 * 3_600_000
const PERIOD_JITTER = 0.1
const REPLY_MS_MAX = 30_000

type Options = {
  readonly urls: readonly string[]
  readonly headers: HttpHeaders
  readonly gate: RequestGate
  readonly runtime: ExternalRuntime
  readonly onChange: () => void
  readonly onIssue: (issue: DecodeIssue) => void
}

/** Which feed is whose: what the server lists, asked every day, and until then what was shipped. */
export class FeedCatalogue {
  readonly #options: Options
  #ids: FeedIds = shippedFeedIds
  #isMissing = false
  #timer = Subscription.EMPTY
  #request = Subscription.EMPTY
  #failures = 0

  constructor(options: Options) {
    this.#options = options
  }

  /** It was asked for in vain, and never had. */
  get isMissing(): boolean {
    return this.#isMissing
  }

  start(): void {
    this.#after(0)
  }

  stop(): void {
    this.#timer.unsubscribe()
    this.#request.unsubscribe()
  }

  /** The ids of those assets that have a feed, by asset. */
  idsOf(assets: Iterable<string>): ReadonlyMap<string, string> {
    const known = new Map<string, string>()
    for (const asset of assets) {
      const id = this.#ids.get(asset)
      if (id !== undefined) known.set(asset, id)
    }
    return known
  }

  #after(delayMs: number): void {
    const { gate, runtime } = this.#options
    this.#timer = runtime.scheduler.schedule(() => {
      const waitMs = gate.waitMs(runtime.scheduler.now())
      if (waitMs === 0) this.#ask()
      else this.#after(waitMs)
    }, delayMs)
  }

  #ask(): void {
    const { urls, headers, runtime } = this.#options
    const { get, scheduler } = runtime
    const late = () => new OperatingError('request_timeout', 'no answer in time')
    const url = `${urls[this.#failures % urls.length]}/v2/price_feeds?asset_type=crypto`
    this.#request = get(url, headers)
      .pipe(timeout({ first: REPLY_MS_MAX, scheduler, with: () => throwError(late) }))
      .subscribe({
        next: (reply) => this.#answered(reply),
        error: (cause: unknown) => this.#failed(describeFailure(cause).detail),
      })
  }

  #answered({ status, body }: HttpReply): void {
    const { gate, runtime, onChange } = this.#options
    if (status === 429) gate.throttle(runtime.scheduler.now(), runtime.random())
    const ids = status === 200 ? decodeCatalogue(body) : null
    if (ids === null || ids.size === 0) {
      this.#failed(`HTTP ${status}`)
      return
    }
    // A list without them is no reason to lose the majors.
    this.#ids = new Map([...shippedFeedIds, ...ids])
    this.#isMissing = false
    this.#failures = 0
    this.#after(PERIOD_MS * (1 + PERIOD_JITTER * runtime.random()))
    onChange()
  }

  #failed(detail: string): void {
    const { runtime, onChange, onIssue } = this.#options
    this.#failures += 1
    onIssue({ kind: 'catalogue_failed', detail })
    this.#after(retryMs(this.#failures, runtime.random()))
    if (this.#ids === shippedFeedIds) this.#isMissing = true
    onChange()
  }
}
