import { backOffMs } from '../../../domain/back-off.ts'
import { TokenBucket } from '../../token-bucket.ts'

/** Weight of `userFillsByTime` without its rows, and of `vaultDetails` and `txDetails`. */
const REQUEST_WEIGHT = 20
/** One full reply. */
const CAPACITY = 120
/** Between two looks whether fills are to be requested. */
const IDLE_MS = 500
const BACK_OFF = { minMs: 5_000, maxMs: 300_000 }

/** The part of the planned weight for confirming liquidations. After a failure all requests wait. */
export class FillsBudget {
  readonly #bucket: TokenBucket
  #notBeforeMs = Number.NEGATIVE_INFINITY
  #failures = 0

  constructor(weightPerMinute: number, nowMs: number) {
    this.#bucket = new TokenBucket({ capacity: CAPACITY, perMinute: weightPerMinute }, nowMs)
  }

  /** Takes the weight of the next request. @returns false where it has to wait */
  take(nowMs: number): boolean {
    if (nowMs < this.#notBeforeMs) return false
    const waitMs = this.#bucket.take(REQUEST_WEIGHT, nowMs)
    this.#notBeforeMs = nowMs + waitMs
    return waitMs === 0
  }

  /** Gives the weight of a request back that is not needed, and waits for the next look. */
  skip(nowMs: number): void {
    this.#bucket.debit(-REQUEST_WEIGHT, nowMs)
    this.#notBeforeMs = nowMs + IDLE_MS
  }

  /** @param weight of the rows of the reply */
  answered(weight: number, nowMs: number): void {
    this.#failures = 0
    this.#bucket.debit(weight, nowMs)
  }

  /** @param chance uniform in [0, 1) */
  failed(nowMs: number, chance: number): void {
    this.#failures += 1
    this.#notBeforeMs = nowMs + backOffMs(BACK_OFF, this.#failures, chance)
  }
}
