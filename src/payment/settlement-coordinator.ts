import type { Clock } from '../domain/clock.ts'
import type { Finality } from './finality.ts'
import type { Ledger, OpenPayment, PaymentKey } from './ledger/ledger.ts'
import type { Outcome, Payment, Settlement, Unreachable, Verification } from './payment.ts'
import { SETTLE_MARGIN_SECONDS, SETTLE_MS_MAX } from './payment.ts'
import type { PaymentEvent } from './payment-event.ts'
import type { Rejection } from './rejection.ts'
import {
  chargeUnknown,
  facilitatorRejection,
  mayMeanNonceUsed,
  saysNonceUsed,
} from './rejection.ts'
import { withTimeout } from './with-timeout.ts'

/** What is known about a settlement after one attempt. */
export type SettlementVerdict =
  | {
      readonly kind: 'paid'
      readonly transaction: string
      readonly extensionResponses?: string
    }
  /** The answer may be sent; the transfer is not final. */
  | {
      readonly kind: 'trusted'
      readonly transaction: string
      readonly extensionResponses?: string
    }
  | { readonly kind: 'refused'; readonly rejection: Rejection }
  | (Omit<Unreachable, 'kind'> & { readonly kind: 'unavailable' })
  | OpenVerdict

type OpenVerdict = {
  readonly kind: 'open'
  readonly reason: string
  readonly transaction: string | null
  /** Why the chain did not show the outcome. */
  readonly unanswered?: Pick<Extract<Outcome, { kind: 'unknown' }>, 'reason' | 'isLasting'>
}

export type VerificationVerdict =
  | Exclude<SettlementVerdict, { kind: 'trusted' }>
  | { readonly kind: 'valid' }

/** What is known about a payment before its verification. */
export type EarlierUse = {
  /**
   * Whether a settlement was begun here; otherwise its transfer is not searched. It is called only for a nonce that is
   * used, or may be.
   */
  readonly wasBegunHere: () => Promise<boolean>
  /** Whether an earlier settlement was refused here; its transfer may be on chain after all. */
  readonly wasReleased: boolean
  /** Why it can no longer be settled, which needs no verification; null if it can. */
  readonly rejection: Rejection | null
}

/** Why a payment is not verified. */
export type ScreeningRefusal = Extract<SettlementVerdict, { kind: 'refused' | 'unavailable' }>

/** Runs one step of a settlement, and may measure it. */
type MeasureStep = <T>(step: string, work: () => Promise<T>) => Promise<T>

export type SettlementCoordinatorOptions = {
  readonly ledger: Ledger
  readonly clock: Clock
  readonly emit: (event: PaymentEvent) => void
}

const VERIFY_MS_MAX = 10_000
const OUTCOME_MS_MAX = 5_000
/** Base makes a block every 2 s: a transfer that is in no block after this time was dropped. */
const TRANSFER_OVERDUE_MS = 30_000
/** In block time, which lags after a halt of the chain. The margin covers a reorganisation of the newest blocks. */
export const EXPIRED_FOR_SURE_SECONDS = 60

/**
 * Settles payments. The nonce on chain decides, whatever a facilitator reports: a payment is settled at most once, and
 * a settled one is recognised as paid.
 */
export class SettlementCoordinator {
  readonly #ledger: Ledger
  readonly #clock: Clock
  readonly #emit: SettlementCoordinatorOptions['emit']

  constructor({ ledger, clock, emit }: SettlementCoordinatorOptions) {
    this.#ledger = ledger
    this.#clock = clock
    this.#emit = emit
  }

  /** @returns null if the payment is worth a verification */
  async screen(payment: Payment): Promise<ScreeningRefusal | null> {
    const screened = await this.#bounded(
      VERIFY_MS_MAX,
      async (): Promise<Verification> => payment.screen?.() ?? { kind: 'valid' },
      (reason): Verification => ({ kind: 'unreachable', reason }),
    )
    if (screened.kind === 'valid') return null
    const { kind, reason } = screened
    return kind === 'unreachable' ? { kind: 'unavailable', reason } : refused(reason)
  }

  /**
   * Whether a payment can be settled. `paid` and `open`: the chain has used it, or may have. The ledger decides whether
   * that was for an answer of ours, because anybody can submit an authorization and other services can share our payee.
   */
  async verify(
    payment: Payment,
    { wasBegunHere, wasReleased, rejection }: EarlierUse,
  ): Promise<VerificationVerdict> {
    const verification: Verification =
      rejection === null
        ? await this.#bounded(
            VERIFY_MS_MAX,
            () => payment.verify(),
            (reason): Verification => ({ kind: 'unreachable', reason }),
          )
        : { kind: 'invalid', reason: rejection.reason }
    if (verification.kind === 'valid') return verification
    if (verification.kind === 'unreachable') {
      return { ...verification, kind: 'unavailable' }
    }
    const { reason } = verification
    if (saysNonceUsed(reason) && !(await wasBegunHere())) return open(reason)
    if (!wasReleased && !mayMeanNonceUsed(reason)) return refused(reason)
    const outcome = await this.#outcome(payment)
    if (outcome.kind === 'settled') return { kind: 'paid', transaction: outcome.transaction }
    // It may be in no block yet. A 402 would make the buyer pay again.
    const mayBePaid = saysNonceUsed(reason)
      ? !isOver(outcome)
      : (isUnanswered(outcome) || this.#isBehind(outcome, payment)) && (await wasBegunHere())
    return mayBePaid ? open(reason) : refused(rejection ?? reason, outcome)
  }

  /** Whether the payment has expired, and the node has no block that shows that its nonce stayed unused. */
  #isBehind(outcome: Outcome, { validBeforeSeconds }: Payment): boolean {
    return (
      outcome.kind === 'unused' &&
      outcome.asOfSeconds < validBeforeSeconds &&
      this.#clock.nowMs() >= validBeforeSeconds * 1_000
    )
  }

  /** Settles a payment whose answer is in the ledger. */
  async settle(
    key: PaymentKey,
    payment: Payment,
    finality: Finality,
    measure: MeasureStep = (_, work) => work(),
  ): Promise<SettlementVerdict> {
    const verdict = await measure('settle', () => this.#attempt(key, payment, finality))
    return measure('ledger record', () => this.#record(key, verdict))
  }

  /** Records a payment that was settled before this request. */
  settled(key: PaymentKey, transaction: string): Promise<SettlementVerdict> {
    return this.#record(key, { kind: 'paid', transaction })
  }

  /**
   * Determines the outcome of an open payment for a buyer that waits; settles it if that is still possible.
   * @param sent transaction of an earlier attempt, if it is known
   */
  async reconcile(
    key: PaymentKey,
    payment: Payment,
    sent: string | null,
  ): Promise<SettlementVerdict> {
    const { verdict } = await this.#judged(payment, sent)
    return this.#record(key, verdict ?? (await this.#again(key, payment)))
  }

  /**
   * Determines the outcome of an open payment without a buyer. If the buyer has the answer, a missing transfer is
   * settled again. Otherwise the chain is only asked: no money is taken for an answer that may never be fetched.
   */
  async followUp(
    { key, state, begunMs, transaction }: OpenPayment,
    payment: Payment,
  ): Promise<SettlementVerdict> {
    const { verdict: judged, outcome } = await this.#judged(payment, transaction)
    const isOverdue = this.#clock.nowMs() - begunMs > TRANSFER_OVERDUE_MS
    let verdict = judged
    if (state === 'unknown') verdict ??= open('the buyer has not returned for the answer')
    else
      verdict ??= isOverdue
        ? await this.#again(key, payment)
        : open('the transfer is in no block yet')
    const recorded = await this.#record(key, verdict, state === 'unknown' ? 'withheld' : 'answered')
    return recorded.kind === 'open' && outcome.kind === 'unknown'
      ? { ...recorded, unanswered: outcome }
      : recorded
  }

  /** Verdict by the chain alone; null if the payment can still be settled. */
  async #judged(
    payment: Payment,
    sent: string | null,
  ): Promise<{ readonly verdict: SettlementVerdict | null; readonly outcome: Outcome }> {
    const outcome = await this.#outcome(payment, sent)
    return { verdict: this.#verdictOf(outcome, payment), outcome }
  }

  #verdictOf(outcome: Outcome, { validBeforeSeconds }: Payment): SettlementVerdict | null {
    if (outcome.kind === 'settled') return { kind: 'paid', transaction: outcome.transaction }
    if (outcome.kind === 'forfeited') return refused('nonce_already_used')
    if (outcome.kind === 'expired') return refused('payment_expired')
    const leftSeconds = validBeforeSeconds - Math.floor(this.#clock.nowMs() / 1_000)
    if (leftSeconds >= SETTLE_MARGIN_SECONDS) return null
    const isOver =
      outcome.kind === 'unused' &&
      outcome.asOfSeconds - validBeforeSeconds > EXPIRED_FOR_SURE_SECONDS
    if (isOver) return refused('payment_expired')
    return open(
      outcome.kind === 'unknown'
        ? outcome.reason
        : 'the authorization has expired; its transaction can still be mined',
    )
  }

  async #again(key: PaymentKey, payment: Payment): Promise<SettlementVerdict> {
    const again = await this.#attempt(key, payment, 'confirmed')
    if (again.kind === 'paid' || again.kind === 'open') return again
    // The earlier attempt may still be in the mempool, so no refusal of this one is final before the payment expires.
    return open('an earlier transaction of this payment can still be mined')
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
        // One that is not final yet stays open: the follow-up asks the chain.
        if (answered && verdict.kind === 'settled' && isFinal(verdict, finality))
          await this.#late(key, payment, verdict.transaction)
        return verdict
      },
      (reason): Settlement => ({ kind: 'unknown', reason, transaction: null }),
    )
    answered = true
    switch (settlement.kind) {
      case 'settled':
        return {
          ...settlement,
          kind: isFinal(settlement, finality) ? 'paid' : 'trusted',
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

  /** A settlement that succeeded after its request was answered with `settlement_unknown`. */
  async #late(key: PaymentKey, payment: Payment, transaction: string): Promise<void> {
    const { payer, network } = key
    try {
      // The buyer or the follow-up may have found the transfer first.
      const isNews = (await this.#ledger.find(key))?.state !== 'settled'
      await this.#record(key, { kind: 'paid', transaction })
      const amount = isNews ? { amount: payment.requirement.amount } : {}
      this.#emit({ kind: 'settled', route: null, payer, network, ...amount, transaction })
    } catch (cause) {
      // The row stays open; the follow-up or the next request recognises the payment as paid.
      this.#emit({ kind: 'failed', route: null, payer, transaction, cause })
    }
  }

  /** The cause of a refusal may be an earlier settlement, perhaps our own before a crash. */
  async #refusal(payment: Payment, reason: string): Promise<SettlementVerdict> {
    const outcome = await this.#outcome(payment)
    if (outcome.kind === 'settled') return { kind: 'paid', transaction: outcome.transaction }
    // A node that simulates on its mempool reports a used nonce before any block has it.
    const mayBePaid = saysNonceUsed(reason)
      ? !isOver(outcome)
      : mayMeanNonceUsed(reason) && isUnanswered(outcome)
    if (mayBePaid) return open(reason)
    return mayMeanNonceUsed(reason) ? refused(reason, outcome) : refused(reason)
  }

  #outcome(payment: Payment, sent: string | null = null): Promise<Outcome> {
    return this.#bounded(
      OUTCOME_MS_MAX,
      () => payment.outcome(sent),
      (reason): Outcome => ({ kind: 'unknown', reason }),
    )
  }

  /** @param answer whether the buyer already has it */
  async #record(
    key: PaymentKey,
    verdict: SettlementVerdict,
    answer: 'withheld' | 'answered' = 'withheld',
  ): Promise<SettlementVerdict> {
    const nowMs = this.#clock.nowMs()
    const isAnswered = answer === 'answered'
    switch (verdict.kind) {
      case 'paid':
        await this.#ledger.move(key, 'settled', verdict.transaction, nowMs)
        return verdict
      case 'trusted':
        await this.#ledger.move(key, 'unconfirmed', verdict.transaction, nowMs)
        return verdict
      case 'open':
        await this.#ledger.move(
          key,
          isAnswered ? 'unconfirmed' : 'unknown',
          verdict.transaction,
          nowMs,
        )
        return verdict
      case 'refused':
      case 'unavailable':
        await this.#ledger.move(key, isAnswered ? 'lost' : 'released', null, nowMs)
        return verdict
      default:
        return verdict satisfies never
    }
  }

  /** An exception and a missing answer are treated alike. */
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

/** It can be known later. Without any node every failed simulation would stay open. */
function isUnanswered(outcome: Outcome): boolean {
  return outcome.kind === 'unknown' && outcome.isLasting !== true
}

function open(reason: string): OpenVerdict {
  return { kind: 'open', reason, transaction: null }
}

/** @param outcome of a nonce whose use may be the reason */
function refused(because: string | Rejection, outcome?: Outcome): ScreeningRefusal {
  const rejected = typeof because === 'string' ? facilitatorRejection(because) : because
  return {
    kind: 'refused',
    rejection: outcome?.kind === 'unknown' ? chargeUnknown(rejected) : rejected,
  }
}

function isFinal({ isFinal }: { readonly isFinal?: boolean }, finality: Finality): boolean {
  return finality === 'confirmed' || isFinal === true
}
