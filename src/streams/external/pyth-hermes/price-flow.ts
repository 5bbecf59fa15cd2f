import type { SchedulerLike } from 'rxjs'
import { Subscription } from 'rxjs'
import type { Batch } from '../../../domain/event.ts'
import type { OraclePriceEvent } from '../../../domain/external.ts'
import type { PythPrice } from './decode.ts'
import type { Feeds } from './feed-chunks.ts'

/** A stream tells a feed some 2.5 times a second: nobody needs it more often. */
const PERIOD_MS = 400
const HEARTBEAT_MS = 5_000

/** Of the prices of one stream the newest of each feed, at most so often, and none that goes back in time. */
export class PriceFlow {
  readonly #feeds: Feeds
  readonly #scheduler: SchedulerLike
  readonly #tell: (batch: Batch) => void
  readonly #publishedMs = new Map<string, number>()
  readonly #waiting = new Map<string, OraclePriceEvent>()
  #toldMs = Number.NEGATIVE_INFINITY
  #timer = Subscription.EMPTY
  #isTimed = false

  constructor(feeds: Feeds, scheduler: SchedulerLike, tell: (batch: Batch) => void) {
    this.#feeds = feeds
    this.#scheduler = scheduler
    this.#tell = tell
  }

  stop(): void {
    this.#timer.unsubscribe()
  }

  /** @returns how many were of feeds that nobody asked for */
  take(prices: readonly PythPrice[]): number {
    const nowMs = this.#scheduler.now()
    let strangers = 0
    for (const price of prices) {
      const asset = this.#feeds.get(price.id)
      if (asset === undefined) strangers += 1
      else if (price.publishedMs >= (this.#publishedMs.get(price.id) ?? 0)) {
        this.#publishedMs.set(price.id, price.publishedMs)
        this.#waiting.set(price.id, oraclePrice(asset, price, nowMs))
      }
    }
    if (this.#waiting.size === 0 || this.#isTimed) return strangers
    const waitMs = this.#toldMs + PERIOD_MS - nowMs
    if (waitMs <= 0) this.#flush()
    else {
      this.#isTimed = true
      this.#timer = this.#scheduler.schedule(() => this.#flush(), waitMs)
    }
    return strangers
  }

  #flush(): void {
    this.#isTimed = false
    this.#toldMs = this.#scheduler.now()
    const batch = [...this.#waiting.values()]
    this.#waiting.clear()
    this.#tell(batch)
  }
}

function oraclePrice(asset: string, price: PythPrice, nowMs: number): OraclePriceEvent {
  return {
    kind: 'oracle-price',
    network: 'pyth-hermes',
    place: '',
    asset,
    priceUsd: price.priceUsd,
    confidenceUsd: price.confidenceUsd,
    ema: price.ema,
    resolutionBps: 0,
    heartbeatMs: HEARTBEAT_MS,
    timeExchangeMs: price.publishedMs,
    timeReceivedMs: nowMs,
  }
}
