import type { Observable } from 'rxjs'
import { concat, defer, map, Subscription } from 'rxjs'
import type { Batch } from '../../../domain/event.ts'
import { HttpStatusError } from '../../http-exchange.ts'
import { rateGate } from '../../rate-gate.ts'
import type { HttpReply } from '../../runtime.ts'
import { Mirrors } from '../mirrors.ts'
import { poll } from '../polling.ts'
import { failureDetail, jittered, withReplyTimeout } from '../retry.ts'
import type { FeedIds } from './decode.ts'
import { decodeCatalogue } from './decode.ts'
import { coreFeedIds } from './feed-ids.ts'
import type { PriceStreamOptions } from './price-stream.ts'

const PERIOD_MS = 24 * 3_600_000
const REPLY_MS_MAX = 30_000

type Options = Pick<PriceStreamOptions, 'urls' | 'headers' | 'limit' | 'runtime' | 'onIssue'> & {
  readonly onChange: () => void
}

/** The feed of each asset: the list of the server, requested daily, and until then the core feeds. */
export class FeedCatalogue {
  readonly #options: Options
  readonly #mirrors: Mirrors
  #ids: FeedIds = coreFeedIds
  #isMissing = false
  #polling = Subscription.EMPTY

  constructor(options: Options) {
    this.#options = options
    this.#mirrors = new Mirrors(options.urls)
  }

  /** Whether no request for the list has succeeded yet and one has failed. */
  get isMissing(): boolean {
    return this.#isMissing
  }

  start(): void {
    const { runtime } = this.#options
    this.#polling = poll({
      runtime,
      initial: [],
      round: () => this.#request(),
      pauseMs: () => jittered(PERIOD_MS, runtime.random()),
      failed: (cause, failures) => this.#failed(cause, failures),
    }).subscribe()
  }

  stop(): void {
    this.#polling.unsubscribe()
  }

  /** The feed ids by asset, without assets that have no feed. */
  idsOf(assets: Iterable<string>): ReadonlyMap<string, string> {
    const known = new Map<string, string>()
    for (const asset of assets) {
      const id = this.#ids.get(asset)
      if (id !== undefined) known.set(asset, id)
    }
    return known
  }

  #request(): Observable<Batch> {
    const { headers, limit, runtime } = this.#options
    const { get, scheduler } = runtime
    return concat(
      rateGate((nowMs) => limit.waitMs(nowMs), scheduler),
      defer(() => {
        const url = `${this.#mirrors.url}/v2/price_feeds?asset_type=crypto`
        return withReplyTimeout(get(url, headers), REPLY_MS_MAX, scheduler).pipe(
          map((reply) => this.#read(reply, url)),
        )
      }),
    )
  }

  #read({ status, body }: HttpReply, url: string): Batch {
    const ids = status === 200 ? decodeCatalogue(body) : null
    if (ids === null || ids.size === 0) throw new HttpStatusError(status, url)
    // The core feeds stay even if the list does not hold them.
    this.#ids = new Map([...coreFeedIds, ...ids])
    this.#isMissing = false
    this.#mirrors.succeeded()
    this.#options.onChange()
    return []
  }

  #failed(cause: unknown, failures: number) {
    const { limit, runtime, onChange, onIssue } = this.#options
    const { url } = this.#mirrors
    limit.observe(cause, runtime.scheduler.now(), runtime.random())
    const pauseMs = this.#mirrors.failed(cause, failures, runtime.random())
    onIssue({ kind: 'catalogue_failed', detail: failureDetail(url, cause, failures, pauseMs) })
    if (this.#ids === coreFeedIds) this.#isMissing = true
    onChange()
    return { batch: [], pauseMs }
  }
}
