import type { FastifyRequest } from 'fastify'
import type { Clock } from '../domain/clock.ts'
import type { Answer } from './answer.ts'
import type { Claim, Claims } from './claims.ts'
import type { Delivery } from './delivery.ts'
import { isNamedBy } from './entity-tag.ts'
import { CALLER_ACCESS_MS, opens } from './extensions/answer-access.ts'
import type { LedgerRow, PaymentLedger } from './ledger.ts'
import { readLedger, unknownIfUnreadable } from './ledger-read.ts'
import { MalformedPayment } from './payload.ts'
import type { EmitForRequest } from './payment-event.ts'
import type { PaymentLimits } from './payment-limits.ts'
import type { PaymentResponses } from './payment-responses.ts'
import type { PresentedPayment } from './presented-payment.ts'
import { purchaseOf, readPayment } from './presented-payment.ts'
import { callerKey, RateLimit } from './rate-limit.ts'
import { inFlight, keptForLater, notModified, outcomeOpen, usedBefore, usedUp } from './refusals.ts'
import type { Terms } from './terms.ts'
import type { Till } from './till.ts'
import { within } from './within.ts'

/** While the host is closed, purchased answers are kept and not sent. */
export type Closure = { isClosed(): boolean; readonly retryAfterSeconds: number }

export type PurchasedAnswersOptions = {
  readonly till: Till
  readonly claims: Claims
  readonly ledger: PaymentLedger
  readonly clock: Clock
  readonly publicUrl: string
  readonly limits: PaymentLimits
  readonly closure: Closure
  readonly responses: PaymentResponses
  readonly delivery: Delivery
  readonly emit: EmitForRequest
}

const COPY_WAIT_MS_MAX = 30_000

/** Sends a purchased answer again, to a request that proves the purchase (`extensions/answer-access.ts`). */
export class PurchasedAnswers {
  readonly #options: PurchasedAnswersOptions
  readonly #repeats: RateLimit

  constructor(options: PurchasedAnswersOptions) {
    this.#options = options
    const { repeatedPaymentsPerAddressPerMinute } = options.limits
    this.#repeats = new RateLimit('repeated-payments', repeatedPaymentsPerAddressPerMinute)
  }

  /** @returns the answer that this payment bought here before; it needs no check that only a new sale must pass */
  recall(request: FastifyRequest, terms: Terms): Promise<Answer | null> {
    return unknownIfUnreadable(request, this.#options.emit, () => this.#recalled(request, terms))
  }

  /** @returns the response to a payment that was presented before; null for a new one */
  repeat(request: FastifyRequest, presented: PresentedPayment): Promise<Answer> | null {
    const before = this.#before(presented)
    if (before === null) return null
    if (!this.#isOfBuyer(presented, before))
      return presented.payment.refusesRepetitions === true
        ? null
        : this.#counted(request, () => this.usedBefore(request, presented))
    return isReleased(before) ? null : this.#again(request, presented, before)
  }

  usedBefore(request: FastifyRequest, { key }: PresentedPayment): Answer {
    this.#options.emit(request, { kind: 'conflict', payer: key.payer })
    return usedBefore(request)
  }

  /** A payment, or another one with the same nonce, that is in flight or in the ledger and was not refused. */
  holdsNonce(presented: PresentedPayment): boolean {
    const before = this.#find(presented)
    return before !== null && !isReleased(before)
  }

  async #recalled(request: FastifyRequest, terms: Terms): Promise<Answer | null> {
    const { closure, delivery, publicUrl } = this.#options
    let presented: PresentedPayment
    try {
      const read = readPayment(request, terms, terms.known, publicUrl)
      if ('reason' in read) return null
      presented = read.presented
    } catch (cause) {
      // Admission reports what is wrong with it.
      if (cause instanceof MalformedPayment) return null
      throw cause
    }
    const before = this.#before(presented)
    if (before === null || isReleased(before) || !this.#isOfBuyer(presented, before)) return null
    const answer = await this.#again(request, presented, before)
    if (!closure.isClosed() || answer.status !== 200) return answer
    delivery.expectCaller(presented, closure.retryAfterSeconds * 1_000 + CALLER_ACCESS_MS)
    return keptForLater(request, closure.retryAfterSeconds)
  }

  #find({ id, key }: PresentedPayment): Claim | LedgerRow | null {
    const { claims, ledger } = this.#options
    return claims.find(id) ?? readLedger(() => ledger.find(key))
  }

  /** The same signed payment, in flight or in the ledger. */
  #before(presented: PresentedPayment): Claim | LedgerRow | null {
    const before = this.#find(presented)
    return before?.payloadHash === presented.payloadHash ? before : null
  }

  /** Whether the request proves more than a chain shows, and asks for what was bought. */
  #isOfBuyer({ binding, credentials }: PresentedPayment, before: Claim | LedgerRow): boolean {
    const nowMs = this.#options.clock.nowMs()
    if (before.access === null || !opens(before.access, credentials, nowMs)) return false
    // A payment that bought nothing may be used for another call.
    return before.binding === binding || isReleased(before)
  }

  /** For the buyer: waits for the first request, sends the stored answer, or settles an open outcome. */
  #again(
    request: FastifyRequest,
    presented: PresentedPayment,
    before: Claim | LedgerRow,
  ): Promise<Answer> {
    const { delivery, emit } = this.#options
    const { payer } = presented.key
    if (!('state' in before)) return this.#copied(request, presented, before)
    const { answer, state, transaction } = before
    return this.#counted(request, () => {
      if (answer === null) {
        emit(request, { kind: 'conflict', payer })
        return usedUp(request, state === 'settled')
      }
      if (state !== 'settled' && state !== 'unconfirmed')
        return this.#reconciled(request, presented, before, answer)
      emit(request, { kind: 'replayed', payer })
      const isHeld = this.#hasCopy(request, presented, answer)
      const sent = isHeld ? notModified(answer) : answer
      return delivery.deliver(request, presented, sent, transaction ?? '')
    })
  }

  /** Whether the buyer has the answer already and no newer one could be bought now. */
  #hasCopy(request: FastifyRequest, { terms }: PresentedPayment, { headers }: Answer): boolean {
    const { etag } = headers
    if (etag === undefined || !isNamedBy(request.headers['if-none-match'], etag)) return false
    return terms.route.entityTagOf?.(request) === etag
  }

  async #copied(request: FastifyRequest, { key }: PresentedPayment, claim: Claim): Promise<Answer> {
    const { clock, delivery } = this.#options
    const answer = await within(clock, COPY_WAIT_MS_MAX, claim.answer, null)
    if (answer === null) return inFlight(request)
    if (answer.status === 200) delivery.expectDelivery(request, { key, credentials: claim.access })
    return answer
  }

  async #reconciled(
    request: FastifyRequest,
    presented: PresentedPayment,
    { transaction }: LedgerRow,
    stored: Answer,
  ): Promise<Answer> {
    const { claims, clock, delivery, emit, responses, till } = this.#options
    if (claims.full) return outcomeOpen(request, transaction)
    const claim = claims.open(presented.id, purchaseOf(presented, clock.nowMs()))
    let answer: Answer
    try {
      delivery.expectCaller(presented, CALLER_ACCESS_MS)
      const verdict = await till.reconcile(presented.key, presented.payment)
      answer = await responses.concluded(request, presented, verdict, stored)
    } catch (cause) {
      emit(request, { kind: 'failed', cause })
      answer = outcomeOpen(request, transaction)
    }
    claim.close(answer)
    return answer
  }

  /** Counts every repeated payment, so that neither guesses nor valid ones are free or distinguishable. */
  async #counted(
    request: FastifyRequest,
    respond: () => Answer | Promise<Answer>,
  ): Promise<Answer> {
    const allowance = await this.#repeats.take(callerKey(request.ip))
    return allowance.allowed
      ? respond()
      : this.#options.responses.limited(request, this.#repeats, allowance)
  }
}

/** A refused payment is as good as a new one, whether its answer was sent or not. */
function isReleased(before: Claim | LedgerRow): boolean {
  return 'state' in before && (before.state === 'released' || before.state === 'lost')
}
