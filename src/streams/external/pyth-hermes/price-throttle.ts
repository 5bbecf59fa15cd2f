import type { SchedulerLike, Subscription } from 'rxjs'
import type { Batch } from '../../../domain/event.ts'
import type { OraclePriceEvent } from '../../../domain/external.ts'
import type { FeedPrice } from './decode.ts'
import type { Feeds } from './feed-chunks.ts'

/** The rate of Pyth itself: a stream sends each feed about 2.5 times a second. */
const PERIOD_MS = 400
const HEARTBEAT_MS = 5_000

/** Emits the newest price of each feed of one stream, at most once per period, and never an older one. */
export class PriceThrottle {
  readonly #feeds: Feeds
  readonly #scheduler: SchedulerLike
  readonly #emit: (batch: Batch) => void
  readonly #publishedMs = new Map<string, number>()
  readonly #pending = new Map<string, OraclePriceEvent>()
  #emittedMs = Number.NEGATIVE_INFINITY
  #timer: Subscription | null = null

  constructor(feeds: Feeds, scheduler: SchedulerLike, emit: (batch: Batch) => void) {
    this.#feeds = feeds
    this.#scheduler = scheduler
    this.#emit = emit
  }

  stop(): void {
    this.#timer?.unsubscribe()
  }

  /** @returns the number of prices of unrequested feeds */
  add(prices: readonly FeedPrice[]): number {
    const nowMs = this.#scheduler.now()
    let unknown = 0
    for (const price of prices) {
      const asset = this.#feeds.get(price.id)
      if (asset === undefined) unknown += 1
      else if (price.publishedMs >= (this.#publishedMs.get(price.id) ?? 0)) {
        this.#publishedMs.set(price.id, price.publishedMs)
        this.#pending.set(price.id, oraclePrice(asset, price, nowMs))
      }
    }
    const waitMs = this.#emittedMs + PERIOD_MS - nowMs
    if (this.#pending.size === 0 || this.#timer !== null) return unknown
    if (waitMs <= 0) this.#flush()
    else this.#timer = this.#scheduler.schedule(() => this.#flush(), waitMs)
    return unknown
  }

  #flush(): void {
    this.#timer = null
    this.#emittedMs = this.#scheduler.now()
    const batch = [...this.#pending.values()]
    this.#pending.clear()
    this.#emit(batch)
  }
}

function oraclePrice(asset: string, price: FeedPrice, nowMs: number): OraclePriceEvent {
  const { priceUsd, confidenceUsd, ema, publishedMs } = price
  return {
    ...{ kind: 'oracle-price', network: 'pyth-hermes', place: '' },
    ...{ asset, priceUsd, confidenceUsd, ema },
    resolutionBps: 0,
    heartbeatMs: HEARTBEAT_MS,
    timeExchangeMs: publishedMs,
    timeReceivedMs: nowMs,
  }
}
