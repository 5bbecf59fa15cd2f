import type { Observable } from 'rxjs'
import { concat, defer, map, throwError, timeout } from 'rxjs'
import { OperatingError } from '../../../domain/errors.ts'
import { rateGate } from '../../rate-gate.ts'
import type { HttpReply, Runtime } from '../../runtime.ts'
import type { OnFeedEvent } from '../ingest/feed-event.ts'
import { WeightBudget } from './weight-budget.ts'

type InfoRequest =
  | { readonly type: 'meta' | 'metaAndAssetCtxs'; readonly dex?: string }
  | { readonly type: 'perpDexs' | 'predictedFundings' | 'spotMetaAndAssetCtxs' }
  | { readonly type: 'fundingHistory'; readonly coin: string; readonly startTime: number }
  | { readonly type: 'clearinghouseState'; readonly user: string }
  | {
      readonly type: 'userFillsByTime'
      readonly user: string
      readonly startTime: number
      readonly endTime: number
    }
  | { readonly type: 'vaultDetails'; readonly vaultAddress: string }
  | {
      readonly type: 'candleSnapshot'
      readonly req: {
        readonly coin: string
        readonly interval: string
        readonly startTime: number
        readonly endTime: number
      }
    }

/** `askedMs`: when the request was sent. Data of later instants may still change. */
type InfoReply = { readonly body: string; readonly askedMs: number }

/** Weight of most requests, without the part that depends on the rows of the reply. */
const REQUEST_WEIGHT = 20
/** Limit of the whole exchange. */
const REPLY_MS_MAX = 30_000
const OK = 200
const TOO_MANY_REQUESTS = 429

/** The venue's `/info` endpoint, within its weight limit. */
export class InfoClient {
  readonly #url: string
  readonly #runtime: Runtime
  readonly #onFeedEvent: OnFeedEvent
  readonly #budget: WeightBudget

  constructor(
    options: { readonly infoUrl: string; readonly weightPerMinute: number },
    runtime: Runtime,
    onFeedEvent: OnFeedEvent,
  ) {
    this.#url = options.infoUrl
    this.#runtime = runtime
    this.#onFeedEvent = onFeedEvent
    this.#budget = new WeightBudget(options.weightPerMinute, runtime.scheduler.now())
  }

  /**
   * Waits for the weight budget, then emits the reply or fails with an OperatingError.
   * @param requestAt builds the request when it is sent, which can be minutes later
   */
  ask(requestAt: (askedMs: number) => InfoRequest, weight = REQUEST_WEIGHT): Observable<InfoReply> {
    const { scheduler, post } = this.#runtime
    const exchange = defer(() => {
      const askedMs = scheduler.now()
      const request = requestAt(askedMs)
      const late = () =>
        new OperatingError(
          'request_timeout',
          `${request.type} did not complete within ${REPLY_MS_MAX / 1_000} s`,
        )
      return post(this.#url, request).pipe(
        timeout({ first: REPLY_MS_MAX, scheduler, with: () => throwError(late) }),
        map((reply) => ({ body: this.#bodyOf(reply, request), askedMs })),
      )
    })
    return concat(
      rateGate((nowMs) => this.#budget.take(weight, nowMs), scheduler),
      exchange,
    )
  }

  /** Subtracts the weight of the rows of a reply. */
  debit(weight: number): void {
    this.#budget.debit(weight, this.#runtime.scheduler.now())
  }

  #bodyOf({ status, body }: HttpReply, { type }: InfoRequest): string {
    if (status === OK) return body
    if (status === TOO_MANY_REQUESTS) {
      const pauseMs = this.#budget.pause(this.#runtime.scheduler.now(), this.#runtime.random())
      this.#onFeedEvent({ kind: 'paused', pauseMs })
    }
    throw new OperatingError('request_refused', `${type}: HTTP ${status}`)
  }
}
