import type { Clock } from '../domain/clock.ts'
import type { Finality } from './finality.ts'
import type { OpenPayment, PaymentKey, PaymentLedger } from './ledger.ts'
import type { Outcome, Payment, Settlement, Unreachable, Verification } from './payment.ts'
import { SETTLE_MARGIN_SECONDS } from './payment.ts'
import type { PaymentEvent } from './payment-event.ts'
import type { Rejection } from './rejection.ts'
import { facilitatorRejection, mayMeanNonceUsed, saysNonceUsed } from './rejection.ts'
import { withTimeout } from './with-timeout.ts'

/** What is known about the money after one attempt to get it. */
export type SettlementVerdict =
  | {
      readonly kind: 'paid'
      readonly transaction: string
      readonly extensionResponses?: string
    }
  /** The answer may go; the chain's last word is to come. */
  | {
      readonly kind: 'trusted'
      readonly transaction: string
      readonly extensionResponses?: string
    }
  | { readonly kind: 'refused'; readonly rejection: Rejection }
  | (Omit<Unreachable, 'kind'> & { readonly kind: 'unavailable' })
  | { readonly kind: 'open'; readonly reason: string; readonly transaction: string | null }

export type VerificationVerdict =
  | Exclude<SettlementVerdict, { kind: 'trusted' }>
  | { readonly kind: 'valid' }

/** Why a payment gets no verification of its own. */
export type ScreeningRefusal = Extract<SettlementVerdict, { kind: 'refused' | 'unavailable' }>

export type SettlementCoordinatorOptions = {
  readonly ledger: PaymentLedger
  readonly clock: Clock
  readonly emit: (event: PaymentEvent) => void
}

const VERIFY_MS_MAX = 10_000
const SETTLE_MS_MAX = 10_000
const OUTCOME_MS_MAX = 5_000
/** Blocks come every 2 s at most: what is not in one by then was dropped. */
const TRANSFER_OVERDUE_MS = 30_000
/**
 * By the time of the chain's blocks: those made after a standstill carry the times of before it. So much more,
 * because the newest blocks may still be replaced by others.
 */
const EXPIRED_FOR_SURE_SECONDS = 60

/**
 * Takes the money for answers. Whatever a facilitator says or fails to say, the chain's nonce decides:
 * a payment is taken at most once, and one that was taken is recognised as paid.
 */
export class SettlementCoordinator {
  readonly #ledger: PaymentLedger
  readonly #clock: Clock
  readonly #emit: SettlementCoordinatorOptions['emit']

  constructor({ ledger, clock, emit }: SettlementCoordinatorOptions) {
    this.#ledger = ledger
    this.#clock = clock
    this.#emit = emit
  }

  /** Whether a payment is worth a verification of its own: null where it is. */
  async screen(payment: Payment): Promise<ScreeningRefusal | null> {
    const screened = await this.#bounded(
      VERIFY_MS_MAX,
      async (): Promise<Verification> => payment.screen?.() ?? { kind: 'valid' },
      (reason): Verification => ({ kind: 'unreachable', reason }),
    )
    if (screened.kind === 'valid') return null
    const { kind, reason } = screened
    return kind === 'unreachable'
      ? { kind: 'unavailable', reason }
      : { kind: 'refused', rejection: facilitatorRejection(reason) }
  }

  /**
   * Whether a payment can be taken. `paid` and `open`: the chain has used it, or may have. Whether that was for an
   * answer of ours the ledger tells: anybody may submit an authorization, and another service may have our payee.
   * @param wasBegunHere whether a settlement of it was begun: else nobody has to look for its transfer
   */
  async verify(payment: Payment, wasBegunHere: boolean): Promise<VerificationVerdict> {
    const verification = await this.#bounded(
      VERIFY_MS_MAX,
      () => payment.verify(),
      (reason): Verification => ({ kind: 'unreachable', reason }),
    )
    if (verification.kind === 'valid') return verification
    if (verification.kind === 'unreachable') {
      return { ...verification, kind: 'unavailable' }
    }
    const { reason } = verification
    if (saysNonceUsed(reason) && !wasBegunHere) return { kind: 'open', reason, transaction: null }
    if (mayMeanNonceUsed(reason)) {
      const outcome = await this.#outcome(payment)
      if (outcome.kind === 'settled') return { kind: 'paid', transaction: outcome.transaction }
      // Used, perhaps in no block yet: a 402 would make the buyer sign, and pay, once more.
      if (saysNonceUsed(reason) && !isOver(outcome))
        return { kind: 'open', reason, transaction: null }
    }
    return { kind: 'refused', rejection: facilitatorRejection(reason) }
  }

  /** Takes the money for an answer that is durable: its row stands in the ledger. */
  async settle(key: PaymentKey, payment: Payment, finality: Finality): Promise<SettlementVerdict> {
    return this.#record(key, await this.#attempt(key, payment, finality))
  }

  /** Closes the row of a payment that was taken before it came here. */
  settled(key: PaymentKey, transaction: string): SettlementVerdict {
    return this.#record(key, { kind: 'paid', transaction })
  }

  /** Finds out, or brings about, what became of a payment whose row is still open. */
  async reconcile(key: PaymentKey, payment: Payment): Promise<SettlementVerdict> {
    return this.#record(key, (await this.#judged(payment)) ?? (await this.#again(key, payment)))
  }

  /**
   * The same with nobody waiting. Where the buyer has its answer, a transfer that does not come is begun
   * again; where it has not, the chain is only asked: money is never taken for an answer that nobody may
   * come for.
   */
  async followUp(
    { key, state, begunMs }: OpenPayment,
    payment: Payment,
  ): Promise<SettlementVerdict> {
    const judged = await this.#judged(payment)
    if (state === 'unknown')
      return this.#record(key, judged ?? open('nobody has come back for the answer'))
    const isOverdue = this.#clock.nowMs() - begunMs > TRANSFER_OVERDUE_MS
    const verdict =
      judged ??
      (isOverdue ? await this.#again(key, payment) : open('the transfer is with the chain'))
    return this.#record(key, verdict, 'answered')
  }

  /** What the chain alone says; null where the payment can still be taken. */
  async #judged(payment: Payment): Promise<SettlementVerdict | null> {
    const outcome = await this.#outcome(payment)
    if (outcome.kind === 'settled') return { kind: 'paid', transaction: outcome.transaction }
    if (outcome.kind === 'forfeited') return refused('nonce_already_used')
    if (outcome.kind === 'expired') return refused('payment_expired')
    const leftSeconds = payment.validBeforeSeconds - Math.floor(this.#clock.nowMs() / 1_000)
    if (leftSeconds >= SETTLE_MARGIN_SECONDS) return null
    const isOver =
      outcome.kind === 'unused' &&
      outcome.asOfSeconds - payment.validBeforeSeconds > EXPIRED_FOR_SURE_SECONDS
    return isOver
      ? refused('payment_expired')
      : open('the authorization has run out and its transaction may still be mined')
  }

  async #again(key: PaymentKey, payment: Payment): Promise<SettlementVerdict> {
    const again = await this.#attempt(key, payment, 'confirmed')
    if (again.kind === 'paid' || again.kind === 'open') return again
    // The attempt before may still lie in the mempool, where only its transaction can see the nonce
    // used: nothing that this attempt was refused for is the last word before the authorization ends.
    return open('an earlier transaction of this payment may still be mined')
  }

  async #attempt(
    key: PaymentKey,
    payment: Payment,
    finality: Finality,
  ): Promise<SettlementVerdict> {
    let answered = false
    const settlement = await this.#bounded(
      SETTLE_MS_MAX,
      async () => {
        const verdict = await payment.settle(finality)
        if (answered && verdict.kind === 'settled') this.#late(key, verdict.transaction)
        return verdict
      },
      (reason): Settlement => ({ kind: 'unknown', reason, transaction: null }),
    )
    answered = true
    switch (settlement.kind) {
      case 'settled':
        return {
          ...settlement,
          kind: finality === 'confirmed' || settlement.isFinal === true ? 'paid' : 'trusted',
        }
      case 'broadcast':
        return { kind: 'trusted', transaction: settlement.transaction }
      case 'unknown':
        return { ...settlement, kind: 'open' }
      case 'unreachable':
        return { ...settlement, kind: 'unavailable' }
      case 'rejected':
        return this.#refusal(payment, settlement.reason)
      default:
        return settlement satisfies never
    }
  }

  /** A verdict that came after its request had been answered as open. */
  #late(key: PaymentKey, transaction: string): void {
    const { payer } = key
    try {
      this.#record(key, { kind: 'paid', transaction })
      this.#emit({ kind: 'settled', route: null, payer, transaction })
    } catch (cause) {
      // The row stays open; the payment is recognised as paid when it comes back.
      this.#emit({ kind: 'failed', route: null, payer, transaction, cause })
    }
  }

  /** A settlement may be refused because somebody was faster, perhaps we ourselves before a crash. */
  async #refusal(payment: Payment, reason: string): Promise<SettlementVerdict> {
    const outcome = await this.#outcome(payment)
    if (outcome.kind === 'settled') return { kind: 'paid', transaction: outcome.transaction }
    // A node that simulates on its mempool calls a nonce used before any block has used it.
    if (saysNonceUsed(reason) && !isOver(outcome)) {
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

  /** @param answer whether the buyer has it already: then there is nothing left to refuse */
  #record(
    key: PaymentKey,
    verdict: SettlementVerdict,
    answer: 'withheld' | 'answered' = 'withheld',
  ): SettlementVerdict {
    const nowMs = this.#clock.nowMs()
    const isAnswered = answer === 'answered'
    switch (verdict.kind) {
      case 'paid':
        this.#ledger.move(key, 'settled', verdict.transaction, nowMs)
        return verdict
      case 'trusted':
        this.#ledger.move(key, 'unconfirmed', verdict.transaction, nowMs)
        return verdict
      case 'open':
        this.#ledger.move(key, isAnswered ? 'unconfirmed' : 'unknown', verdict.transaction, nowMs)
        return verdict
      case 'refused':
      case 'unavailable':
        this.#ledger.move(key, isAnswered ? 'lost' : 'released', null, nowMs)
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
    return withTimeout(this.#clock, msMax, attempt(), giveUp(`no answer within ${msMax} ms`))
  }
}

function isOver({ kind }: Outcome): boolean {
  return kind === 'forfeited' || kind === 'expired'
}

function open(reason: string): SettlementVerdict {
  return { kind: 'open', reason, transaction: null }
}

function refused(reason: string): SettlementVerdict {
  return { kind: 'refused', rejection: facilitatorRejection(reason) }
}
