import type { FastifyRequest } from 'fastify'
import type { Clock } from '../domain/clock.ts'
import type { BufferedResponse } from './buffered-response.ts'
import type { Delivery } from './delivery.ts'
import { isNamedBy } from './entity-tag.ts'
import { CALLER_ACCESS_MS, opens } from './extensions/answer-access.ts'
import type { InFlightPayment, InFlightPayments } from './in-flight-payments.ts'
import type { Ledger, LedgerRow } from './ledger/ledger.ts'
import { isReusable } from './ledger/ledger.ts'
import { readLedger, unknownIfUnreadable } from './ledger/ledger-read.ts'
import { MalformedPayment } from './payload.ts'
import type { EmitForRequest } from './payment-event.ts'
import type { PaymentLimits } from './payment-limits.ts'
import type { PaymentResponses } from './payment-responses.ts'
import type { PresentedPayment } from './presented-payment.ts'
import { purchaseOf, readPayment } from './presented-payment.ts'
import type { RateLimit, RateLimits } from './rate-limit.ts'
import { callerKey } from './rate-limit.ts'
import {
  answerExpired,
  keptDuringMaintenance,
  nonceReused,
  notModified,
  paymentReused,
  settlementUnknown,
  stillInFlight,
} from './refusals.ts'
import type { SettlementCoordinator } from './settlement-coordinator.ts'
import type { Terms } from './terms.ts'
import { withTimeout } from './with-timeout.ts'

/** While the host is closed, purchased answers are kept and not sent. */
export type Closure = { isClosed(): boolean; readonly retryAfterSeconds: number }

export type PurchasedAnswersOptions = {
  readonly coordinator: SettlementCoordinator
  readonly inFlightPayments: InFlightPayments
  readonly ledger: Ledger
  readonly clock: Clock
  readonly publicUrl: string
  readonly limits: PaymentLimits
  readonly rateLimits: RateLimits
  readonly closure: Closure
  readonly responses: PaymentResponses
  readonly delivery: Delivery
  readonly emit: EmitForRequest
}

const COPY_WAIT_MS_MAX = 30_000
/** Between two looks at a payment on which another process works. */
const POLL_MS = 250

/** Sends a purchased answer again, to a request that proves the purchase (`extensions/answer-access.ts`). */
export class PurchasedAnswers {
  readonly #options: PurchasedAnswersOptions
  readonly #repeats: RateLimit
  /** What `recall` found in the ledger for a request. */
  readonly #found = new WeakMap<
    FastifyRequest,
    { readonly id: string; readonly row: LedgerRow | null }
  >()

  constructor(options: PurchasedAnswersOptions) {
    this.#options = options
    const { limits, rateLimits } = options
    this.#repeats = rateLimits('repeated-payments', limits.repeatedPaymentsPerAddressPerMinute)
  }

  /** @returns the answer that this payment bought here before; it needs no check that only a new sale must pass */
  recall(request: FastifyRequest, terms: Terms): Promise<BufferedResponse | null> {
    return unknownIfUnreadable(request, this.#options.emit, () => this.#recalled(request, terms))
  }

  stored({ key }: PresentedPayment): Promise<LedgerRow | null> {
    return readLedger(this.#options.ledger.find(key))
  }

  /**
   * The payment, or another one with its nonce, in flight or in the ledger. The ledger is read once for a request, so a
   * reservation needs `stored`.
   */
  async before(
    request: FastifyRequest,
    presented: PresentedPayment,
  ): Promise<InFlightPayment | LedgerRow | null> {
    const { inFlightPayments } = this.#options
    const { id } = presented
    const inFlight = inFlightPayments.find(id)
    if (inFlight !== undefined) return inFlight
    const found = this.#found.get(request)
    const row = found?.id === id ? found.row : await this.stored(presented)
    this.#found.set(request, { id, row })
    return inFlightPayments.find(id) ?? row
  }

  /**
   * @param before what `before` found
   * @returns the response to a payment that was presented before; null for a new one
   */
  repeat(
    request: FastifyRequest,
    presented: PresentedPayment,
    before: InFlightPayment | LedgerRow | null,
  ): Promise<BufferedResponse> | null {
    if (before?.payloadHash !== presented.payloadHash) return null
    if (!this.#isOfBuyer(presented, before))
      return presented.payment.refusesRepetitions === true
        ? null
        : this.#counted(request, () => this.paymentReused(request, presented))
    return isReleased(before) ? null : this.#again(request, presented, before)
  }

  /** The response to a payment that was begun elsewhere while this request prepared its sale. */
  async overtaken(request: FastifyRequest, presented: PresentedPayment): Promise<BufferedResponse> {
    let row: LedgerRow | null
    try {
      row = await this.#options.ledger.find(presented.key)
    } catch (cause) {
      // The process that began it may be charging it.
      this.#options.emit(request, { kind: 'failed', cause })
      return settlementUnknown(request, null)
    }
    if (row === null || isReleased(row)) return stillInFlight(request)
    if (row.payloadHash !== presented.payloadHash) return nonceReused(request)
    return this.#isOfBuyer(presented, row)
      ? this.#outcome(request, presented, row)
      : this.paymentReused(request, presented)
  }

  paymentReused(request: FastifyRequest, { key }: PresentedPayment): BufferedResponse {
    this.#options.emit(request, { kind: 'conflict', payer: key.payer })
    return paymentReused(request)
  }

  async #recalled(request: FastifyRequest, terms: Terms): Promise<BufferedResponse | null> {
    const { closure, delivery, publicUrl } = this.#options
    let presented: PresentedPayment
    try {
      const read = await readPayment(request, terms, publicUrl)
      if ('reason' in read) return null
      presented = read.presented
    } catch (cause) {
      // Admission reports what is wrong with it.
      if (cause instanceof MalformedPayment) return null
      throw cause
    }
    const before = await this.before(request, presented)
    // The transfer of a released payment may be on chain after all; only its verification shows that.
    // A refund charges nothing, although its voucher has bought an answer.
    if (presented.payment.operation !== undefined) request.isPaymentUsed = false
    else if (before === null || !isReleased(before)) request.isPaymentUsed = before !== null
    if (before?.payloadHash !== presented.payloadHash) return null
    if (isReleased(before) || !this.#isOfBuyer(presented, before)) return null
    const answer = await this.#again(request, presented, before)
    if (!closure.isClosed() || answer.status !== 200) return answer
    await delivery.expectCaller(presented, closure.retryAfterSeconds * 1_000 + CALLER_ACCESS_MS)
    return keptDuringMaintenance(request, closure.retryAfterSeconds)
  }

  /** Whether the request proves more than a chain shows, and asks for what was bought. */
  #isOfBuyer(
    { binding, credentials }: PresentedPayment,
    before: InFlightPayment | LedgerRow,
  ): boolean {
    const nowMs = this.#options.clock.nowMs()
    if (before.access === null || !opens(before.access, credentials, nowMs)) return false
    // A payment that bought nothing may be used for another call.
    return before.binding === binding || isReleased(before)
  }

  /** For the buyer: waits for the first request, sends the stored answer, or settles an open outcome. */
  #again(
    request: FastifyRequest,
    presented: PresentedPayment,
    before: InFlightPayment | LedgerRow,
  ): Promise<BufferedResponse> {
    if (!('state' in before)) return this.#copied(request, presented, before)
    return this.#counted(request, () =>
      isFinal(before) || before.answer === null
        ? this.#sentAgain(request, presented, before)
        : this.#reconciled(request, presented, before),
    )
  }

  async #sentAgain(
    request: FastifyRequest,
    presented: PresentedPayment,
    { answer, state, transaction }: LedgerRow,
  ): Promise<BufferedResponse> {
    const { delivery, emit } = this.#options
    const { payer } = presented.key
    if (answer === null) {
      emit(request, { kind: 'conflict', payer })
      return answerExpired(request, state === 'settled')
    }
    emit(request, { kind: 'replayed', payer })
    const isHeld = this.#hasCopy(request, presented, answer)
    const sent = isHeld ? notModified(answer) : answer
    return delivery.deliver(request, presented, sent, transaction ?? '')
  }

  /** Whether the buyer has the answer already and no newer one could be bought now. */
  #hasCopy(
    request: FastifyRequest,
    { terms }: PresentedPayment,
    { headers }: BufferedResponse,
  ): boolean {
    const { etag } = headers
    if (etag === undefined || !isNamedBy(request.headers['if-none-match'], etag)) return false
    return terms.route.entityTagOf?.(request) === etag
  }

  async #copied(
    request: FastifyRequest,
    { key }: PresentedPayment,
    inFlight: InFlightPayment,
  ): Promise<BufferedResponse> {
    const { clock, delivery } = this.#options
    const answer = await withTimeout(clock, COPY_WAIT_MS_MAX, inFlight.answer, null)
    if (answer === null) return stillInFlight(request)
    if (answer.status === 200)
      delivery.expectDelivery(request, { key, credentials: inFlight.access })
    return answer
  }

  async #reconciled(
    request: FastifyRequest,
    presented: PresentedPayment,
    row: LedgerRow,
  ): Promise<BufferedResponse> {
    const { inFlightPayments, clock } = this.#options
    const copy = inFlightPayments.find(presented.id)
    if (copy !== undefined) return this.#copied(request, presented, copy)
    if (inFlightPayments.full) return settlementUnknown(request, row.transaction)
    const inFlight = inFlightPayments.open(presented.id, purchaseOf(presented, clock.nowMs()))
    const answer = await this.#outcome(request, presented, row)
    inFlight.close(answer)
    return answer
  }

  /** Determines the outcome of a payment, or waits for the process that does. */
  async #outcome(
    request: FastifyRequest,
    presented: PresentedPayment,
    begun: LedgerRow,
  ): Promise<BufferedResponse> {
    const { ledger, clock, delivery, emit, responses, coordinator } = this.#options
    const { key, payment } = presented
    let row: LedgerRow | null = begun
    try {
      for (let waitedMs = 0; ; waitedMs += POLL_MS) {
        const isTakenOver = await ledger.takeOver(key)
        row = await ledger.find(key)
        // A refused payment may have been begun again, for another call.
        if (row === null || isReleased(row)) return stillInFlight(request)
        if (!this.#isOfBuyer(presented, row)) return this.paymentReused(request, presented)
        if (isFinal(row) || row.answer === null) return this.#sentAgain(request, presented, row)
        if (isTakenOver) {
          await delivery.expectCaller(presented, CALLER_ACCESS_MS)
          const verdict = await coordinator.reconcile(key, payment, row.transaction)
          return await responses.concluded(request, presented, verdict, row.answer)
        }
        if (waitedMs >= COPY_WAIT_MS_MAX) return stillInFlight(request)
        await pause(clock, POLL_MS)
      }
    } catch (cause) {
      emit(request, { kind: 'failed', cause })
      return settlementUnknown(request, row?.transaction ?? null)
    }
  }

  /** Counts every repeated payment, so that neither guesses nor valid ones are free or distinguishable. */
  async #counted(
    request: FastifyRequest,
    respond: () => BufferedResponse | Promise<BufferedResponse>,
  ): Promise<BufferedResponse> {
    const allowance = await this.#repeats.take(callerKey(request.ip))
    return allowance.allowed
      ? respond()
      : this.#options.responses.limited(request, this.#repeats, allowance, null)
  }
}

/** A refused payment is as good as a new one, whether its answer was sent or not. */
export function isReleased(before: InFlightPayment | LedgerRow): boolean {
  return 'state' in before && isReusable(before.state)
}

/** Whether nothing is left to determine for its buyer: the answer may be sent. */
function isFinal({ state }: LedgerRow): boolean {
  return state === 'settled' || state === 'unconfirmed'
}

function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(ms, resolve)
  })
}
