import { HttpStatusError } from '../../http-exchange.ts'
import { TokenBucket } from '../../token-bucket.ts'

/** Half of the documented limit of 10 requests in 10 s: https://docs.pyth.network/price-feeds/core/rate-limits */
const LIMIT = { capacity: 5, perMinute: 30 } as const
const TOO_MANY_REQUESTS = 429
/** The server refuses everything for a minute after 429. */
const THROTTLED_MS = 60_000
const THROTTLED_JITTER_MS = 15_000

/** The rate limit of all requests to Hermes. */
export class RequestLimit {
  readonly #bucket: TokenBucket
  #closedUntilMs = Number.NEGATIVE_INFINITY

  constructor(nowMs: number) {
    this.#bucket = new TokenBucket(LIMIT, nowMs)
  }

  /** @returns 0 if a request may be sent, which is counted; otherwise the milliseconds until the next attempt */
  waitMs(nowMs: number): number {
    if (nowMs < this.#closedUntilMs) return this.#closedUntilMs - nowMs
    return this.#bucket.take(1, nowMs)
  }

  /** Closes for a minute after status 429. */
  observe(cause: unknown, nowMs: number, chance: number): void {
    if (cause instanceof HttpStatusError && cause.status === TOO_MANY_REQUESTS)
      this.#closedUntilMs = nowMs + THROTTLED_MS + chance * THROTTLED_JITTER_MS
  }
}
