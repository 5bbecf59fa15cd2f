import type { Clock } from '../../domain/clock.ts'
import type { DecodedPayment } from '../payment.ts'

/** Latest block that can include an authorization after its expiry by our clock. */
const LATE_BLOCK_MS = 60_000
/** The oldest are dropped above this number; the nonce still prevents a second payment. */
const PENDING_MAX = 10_000

type PendingSettlement<Holder> = { readonly holder: Holder; readonly untilMs: number }

/** Remembers which facilitator has each settlement that may be in progress, until it can no longer be mined. */
export class PendingSettlements<Holder> {
  readonly #clock: Clock
  readonly #byHash = new Map<string, PendingSettlement<Holder>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  add({ hash, validBeforeSeconds }: DecodedPayment, holder: Holder): void {
    const untilMs = validBeforeSeconds * 1_000 + LATE_BLOCK_MS
    this.#byHash.delete(hash)
    this.#byHash.set(hash, { holder, untilMs })
    if (this.#byHash.size > PENDING_MAX) this.#makeRoom()
  }

  delete({ hash }: DecodedPayment): void {
    this.#byHash.delete(hash)
  }

  find({ hash }: DecodedPayment): Holder | null {
    const pending = this.#byHash.get(hash)
    return pending === undefined || pending.untilMs < this.#clock.nowMs() ? null : pending.holder
  }

  #makeRoom(): void {
    const nowMs = this.#clock.nowMs()
    for (const [hash, { untilMs }] of this.#byHash) if (untilMs < nowMs) this.#byHash.delete(hash)
    const [oldest] = this.#byHash.keys()
    if (this.#byHash.size > PENDING_MAX && oldest !== undefined) this.#byHash.delete(oldest)
  }
}
