import { TokenBucket } from '../../token-bucket.ts'

/** The documented limit is 10 in 10 s; of that at most this is used, however the requests fall. */
const LIMIT = { capacity: 5, perMinute: 30 } as const
/** Whoever asked too often is refused for a minute. */
const THROTTLED_MS = 60_000
const THROTTLED_JITTER_MS = 15_000

/** When the next request may leave. */
export class RequestGate {
  readonly #bucket: TokenBucket
  #closedUntilMs = Number.NEGATIVE_INFINITY

  constructor(nowMs: number) {
    this.#bucket = new TokenBucket(LIMIT, nowMs)
  }

  /** @returns 0 when it may leave and is counted, else the milliseconds after which to ask again */
  waitMs(nowMs: number): number {
    if (nowMs < this.#closedUntilMs) return this.#closedUntilMs - nowMs
    return this.#bucket.take(1, nowMs)
  }

  /** The server said that it was asked too often. */
  throttle(nowMs: number, chance: number): void {
    this.#closedUntilMs = nowMs + THROTTLED_MS + chance * THROTTLED_JITTER_MS
  }
}
