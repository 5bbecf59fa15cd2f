import { backOffMs } from '../../../domain/back-off.ts'
import { BoundedMap } from '../../../domain/bounded-map.ts'
import { TokenBucket } from '../../token-bucket.ts'

/** Weight of `userFillsByTime` without its rows, and of `vaultDetails` and `txDetails`. */
const REQUEST_WEIGHT = 20
/** One full reply. */
const CAPACITY = 120
/** Between two looks whether fills are to be requested. */
const IDLE_MS = 500
const BACK_OFF = { minMs: 5_000, maxMs: 300_000 }
/** Longer, because each request for an account that fails again takes the place of another one. */
const ACCOUNT_BACK_OFF = { minMs: 15_000, maxMs: 600_000 }
/** One failure a minute fills it in four hours. */
const FAILED_MAX = 256

/** `outage`: how many outages of the venue had ended before. */
type Failed = { readonly failures: number; readonly untilMs: number; readonly outage: number }

/** The part of the planned weight for confirming liquidations. After a failure all requests wait. */
export class FillsBudget {
  readonly #bucket: TokenBucket
  #notBeforeMs = Number.NEGATIVE_INFINITY
  /** In a row; several are an outage of the venue. */
  #failures = 0
  #outages = 0
  /** Accounts whose last request failed. */
  readonly #failed = new BoundedMap<string, Failed>(FAILED_MAX)

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

  /** Whether the fills of an account are not to be requested yet. After an outage each is requested once. */
  isDeferred(account: string, nowMs: number): boolean {
    const failed = this.#failed.get(account)
    return failed?.outage === this.#outages && nowMs < failed.untilMs
  }

  /** @param weight of the rows of the reply */
  answered(account: string, weight: number, nowMs: number): void {
    if (this.#failures > 1) this.#outages += 1
    this.#failures = 0
    this.#failed.delete(account)
    this.#bucket.debit(weight, nowMs)
  }

  /** @param chance uniform in [0, 1) */
  failed(nowMs: number, chance: number): void {
    this.#failures += 1
    this.#notBeforeMs = nowMs + backOffMs(BACK_OFF, this.#failures, chance)
  }

  /**
   * All accounts wait once, and during an outage: else a second failure is the account's, not the venue's.
   * @param chance uniform in [0, 1)
   */
  accountFailed(account: string, nowMs: number, chance: number): void {
    const failures = (this.#failed.get(account)?.failures ?? 0) + 1
    const untilMs = nowMs + backOffMs(ACCOUNT_BACK_OFF, failures, chance)
    this.#failed.set(account, { failures, untilMs, outage: this.#outages })
    if (failures === 1 || this.#failures > 1) this.failed(nowMs, chance)
  }
}
