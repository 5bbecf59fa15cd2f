import type { Clock } from '../domain/clock.ts'
import type { PaymentKey, PaymentLedger } from './ledger.ts'
import type { Outcome, Payment, Settlement, Verification } from './payment.ts'
import { SETTLE_MARGIN_SECONDS } from './payment.ts'
import type { Rejection } from './rejection.ts'
import { facilitatorRejection, saysNonceUsed } from './rejection.ts'
import { within } from './within.ts'

/** What is known about the money after one attempt to get it. */
export type Verdict =
  | { readonly kind: 'paid'; readonly transaction: string }
  | { readonly kind: 'refused'; readonly rejection: Rejection }
  | { readonly kind: 'unavailable'; readonly reason: string }
  | { readonly kind: 'open'; readonly reason: string; readonly transaction: string | null }

export type Admission = Verdict | { readonly kind: 'valid' }

export type TillOptions = {
  readonly ledger: PaymentLedger
  readonly clock: Clock
  /** A verdict that came after its request had been answered as open. */
  readonly onLate: (key: PaymentKey, transaction: string) => void
}

const VERIFY_MS_MAX = 10_000
const SETTLE_MS_MAX = 10_000
const OUTCOME_MS_MAX = 5_000
/** A block may be this late and still include an authorization that has run out on our clock. */
const EXPIRED_FOR_SURE_SECONDS = 60

/**
 * Takes the money for answers. Whatever a facilitator says or fails to say, the chain's nonce decides:
 * a payment is taken at most once, and one that was taken is recognised as paid.
 */
export class Till {
  readonly #ledger: PaymentLedger
  readonly #clock: Clock
  readonly #onLate: TillOptions['onLate']

  constructor({ ledger, clock, onLate }: TillOptions) {
    this.#ledger = ledger
    this.#clock = clock
    this.#onLate = onLate
  }

  /**
   * Whether a payment that was never seen here can be taken. `paid`: somebody else submitted the
   * authorization already, as anyone may; the money is ours, so the buyer gets the answer. It gets it
   * once: the ledger remembers what was sold for longer than an authorization lasts.
   */
  async verify(payment: Payment): Promise<Admission> {
    const verification = await this.#bounded(
      VERIFY_MS_MAX,
      () => payment.verify(),
      (reason): Verification => ({ kind: 'unreachable', reason }),
    )
    if (verification.kind === 'valid') return verification
    if (verification.kind === 'unreachable') {
      return { kind: 'unavailable', reason: verification.reason }
    }
    const { reason } = verification
    if (saysNonceUsed(reason)) {
      const outcome = await this.#outcome(payment)
      if (outcome.kind === 'settled') return { kind: 'paid', transaction: outcome.transaction }
      // Used, perhaps in no block yet: a 402 would make the buyer sign, and pay, once more.
      if (outcome.kind !== 'forfeited') return { kind: 'open', reason, transaction: null }
    }
    return { kind: 'refused', rejection: facilitatorRejection(reason) }
  }

  /** Takes the money for an answer that is durable: its row stands in the ledger. */
  async settle(key: PaymentKey, payment: Payment): Promise<Verdict> {
    return this.#record(key, await this.#attempt(key, payment))
  }

  /** Closes the row of a payment that was taken before it came here. */
  settled(key: PaymentKey, transaction: string): Verdict {
    return this.#record(key, { kind: 'paid', transaction })
  }

  /** Finds out, or brings about, what became of a payment whose row is still open. */
  async reconcile(key: PaymentKey, payment: Payment): Promise<Verdict> {
    const outcome = await this.#outcome(payment)
    const leftSeconds = payment.validBeforeSeconds - Math.floor(this.#clock.nowMs() / 1_000)
    return this.#record(key, await this.#reconciled(key, payment, outcome, leftSeconds))
  }

  async #reconciled(
    key: PaymentKey,
    payment: Payment,
    outcome: Outcome,
    leftSeconds: number,
  ): Promise<Verdict> {
    if (outcome.kind === 'settled') return { kind: 'paid', transaction: outcome.transaction }
    if (outcome.kind === 'forfeited') return refused('nonce_already_used')
    const open = (reason: string): Verdict => ({ kind: 'open', reason, transaction: null })
    if (leftSeconds < SETTLE_MARGIN_SECONDS) {
      return outcome.kind === 'unused' && leftSeconds < -EXPIRED_FOR_SURE_SECONDS
        ? refused('payment_expired')
        : open('the authorization has run out and its transaction may still be mined')
    }
    const again = await this.#attempt(key, payment)
    if (again.kind === 'paid' || again.kind === 'open') return again
    // The attempt before may still lie in the mempool, where only its transaction can see the nonce
    // used: nothing that this attempt was refused for is the last word before the authorization ends.
    return open('an earlier transaction of this payment may still be mined')
  }

  async #attempt(key: PaymentKey, payment: Payment): Promise<Verdict> {
    let answered = false
    const settlement = await this.#bounded(
      SETTLE_MS_MAX,
      async () => {
        const verdict = await payment.settle()
        if (answered && verdict.kind === 'settled') this.#onLate(key, verdict.transaction)
        return verdict
      },
      (reason): Settlement => ({ kind: 'unknown', reason, transaction: null }),
    )
    answered = true
    switch (settlement.kind) {
      case 'settled':
        return { kind: 'paid', transaction: settlement.transaction }
      case 'unknown':
        return { ...settlement, kind: 'open' }
      case 'unreachable':
        return { kind: 'unavailable', reason: settlement.reason }
      case 'rejected':
        return this.#refusal(payment, settlement.reason)
      default:
        return settlement satisfies never
    }
  }

  /** A settlement may be refused because somebody was faster, perhaps we ourselves before a crash. */
  async #refusal(payment: Payment, reason: string): Promise<Verdict> {
    const outcome = await this.#outcome(payment)
    if (outcome.kind === 'settled') return { kind: 'paid', transaction: outcome.transaction }
    // A node that simulates on its mempool calls a nonce used before any block has used it.
    if (saysNonceUsed(reason) && outcome.kind !== 'forfeited') {
      return { kind: 'open', reason, transaction: null }
    }
    return refused(reason)
  }

  #outcome(payment: Payment): Promise<Outcome> {
    return this.#bounded(
      OUTCOME_MS_MAX,
      () => payment.outcome(),
      (reason): Outcome => ({ kind: 'unknown', reason }),
    )
  }

  #record(key: PaymentKey, verdict: Verdict): Verdict {
    const nowMs = this.#clock.nowMs()
    switch (verdict.kind) {
      case 'paid':
        this.#ledger.move(key, 'settled', verdict.transaction, nowMs)
        return verdict
      case 'open':
        this.#ledger.move(key, 'unknown', verdict.transaction, nowMs)
        return verdict
      case 'refused':
      case 'unavailable':
        this.#ledger.move(key, 'released', null, nowMs)
        return verdict
      default:
        return verdict satisfies never
    }
  }

  /** A facilitator that throws or does not answer is the same to us: `giveUp` says what follows. */
  #bounded<T>(msMax: number, work: () => Promise<T>, giveUp: (reason: string) => T): Promise<T> {
    const attempt = async () => {
      try {
        return await work()
      } catch (cause) {
        return giveUp(cause instanceof Error ? cause.message : String(cause))
      }
    }
    return within(this.#clock, msMax, attempt(), giveUp(`no answer within ${msMax} ms`))
  }
}

function refused(reason: string): Verdict {
  return { kind: 'refused', rejection: facilitatorRejection(reason) }
}
