import type { FastifyRequest } from 'fastify'
import type { Clock } from '../domain/clock.ts'
import type { Reservation } from './admission.ts'
import type { BufferedResponse } from './buffered-response.ts'
import { measured } from './call-steps.ts'
import type { FailedPayments } from './failed-payments.ts'
import type { Finality } from './finality.ts'
import type { InFlightPayment } from './in-flight-payments.ts'
import type { ExposureLimits, Ledger } from './ledger/ledger.ts'
import { LedgerBusyError } from './ledger/ledger.ts'
import type { NodeGate } from './node-gate.ts'
import type { EmitForRequest } from './payment-event.ts'
import type { PaymentResponses } from './payment-responses.ts'
import type { PresentedPayment } from './presented-payment.ts'
import type { PurchasedAnswers } from './purchased-answers.ts'
import type { RateLimit } from './rate-limit.ts'
import {
  answerTimedOut,
  chargedBefore,
  identifierReused,
  internalError,
  ledgerBusy,
  ledgerUnavailable,
  settlementUnknown,
  stillInFlight,
} from './refusals.ts'
import type { SettlementCoordinator } from './settlement-coordinator.ts'

export type SalesOptions = {
  readonly coordinator: SettlementCoordinator
  readonly ledger: Ledger
  readonly clock: Clock
  readonly failures: FailedPayments
  /** Paid calls of one wallet. */
  readonly wallets: RateLimit
  readonly nodeGate: NodeGate
  readonly answers: PurchasedAnswers
  readonly responses: PaymentResponses
  /** Finality that a price requires before its answer is sent. */
  readonly finality: (amount: bigint) => Finality
  readonly exposure: ExposureLimits
  readonly emit: EmitForRequest
}

/** A verified payment whose answer the handler prepares. */
export type Sale = PresentedPayment & {
  readonly inFlight: InFlightPayment
  /** Transaction of a payment that was settled before this request. */
  readonly prepaid: string | null
  readonly cancelLapse: () => void
}

/** After this time the handler has lost its sale: the payment may be used again. */
const HANDLER_MS_MAX = 60_000

/**
 * Verifies reserved payments, holds each answer and settles its payment. No answer is sent without its money, and no
 * money is taken without its answer.
 */
export class Sales {
  readonly #options: SalesOptions
  readonly #lapsed = new WeakSet<InFlightPayment>()

  constructor(options: SalesOptions) {
    this.#options = options
  }

  /** @returns the sale that the handler works for, or the response that ends the request */
  async verify(
    request: FastifyRequest,
    { permit, rejection, ...presented }: Reservation,
  ): Promise<Sale | BufferedResponse> {
    const { answers, clock, emit, failures, ledger, nodeGate, responses, coordinator, wallets } =
      this.#options
    const { inFlight, key } = presented
    let refusal: BufferedResponse
    const wasReleased = request.isPaymentUsed === null
    let mayBeUsed = wasReleased
    try {
      const beganMs = clock.nowMs()
      const gate = await nodeGate.admit(request, presented.payment, permit)
      if (gate !== null && 'status' in gate) {
        inFlight.close(gate)
        return gate
      }
      // Only a settlement that was begun here can have paid for one of our answers.
      const wasBegunHere = async () => {
        mayBeUsed = true
        return (await ledger.find(key))?.payloadHash === presented.payloadHash
      }
      const verdict =
        gate ??
        (await coordinator.verify(presented.payment, { wasBegunHere, wasReleased, rejection }))
      const isUsed = verdict.kind === 'paid' || verdict.kind === 'open'
      const isForeign = isUsed && !(await wasBegunHere())
      // An open one may be valid, but it has caused the most requests to the node.
      if (isForeign || verdict.kind === 'refused' || verdict.kind === 'open') permit.fail()
      if (verdict.kind === 'unavailable') permit.unanswered()
      if (isForeign) {
        await failures.noteUsed(key.payer)
        await wallets.giveBack(presented.payment.limitedAs ?? key.payer)
        refusal = answers.paymentReused(request, presented)
      } else if (verdict.kind === 'valid' || verdict.kind === 'paid') {
        emit(request, { kind: 'verified', payer: key.payer, tookMs: clock.nowMs() - beganMs })
        const prepaid = verdict.kind === 'paid' ? verdict.transaction : null
        const cancelLapse = this.#lapseLater(request, inFlight, prepaid)
        return { ...presented, prepaid, cancelLapse }
      } else refusal = await responses.unpaid(request, presented, verdict)
    } catch (cause) {
      emit(request, { kind: 'failed', cause })
      // The ledger was only read, perhaps for a used nonce.
      if (cause instanceof LedgerBusyError) refusal = ledgerUnavailable(request)
      else refusal = mayBeUsed ? settlementUnknown(request, null) : internalError(request)
    } finally {
      permit.end()
    }
    inFlight.close(refusal)
    return refusal
  }

  /**
   * Nothing is sold: the payment may be used again, and its copies get the same response.
   * @param answer refusal of the handler
   * @returns the response in its place, if an earlier request charged the payment; null to send it as it is
   */
  cancel(
    request: FastifyRequest,
    sale: Sale,
    answer: BufferedResponse | null,
  ): BufferedResponse | null {
    sale.cancelLapse()
    const isPrepaid = sale.prepaid !== null
    const isCurrent = answer?.status === 304
    const instead = isPrepaid && !isCurrent ? chargedBefore(request, answer) : null
    // A 304 is right for this buyer only.
    sale.inFlight.close(
      isCurrent ? stillInFlight(request) : (instead ?? answer ?? internalError(request)),
    )
    const reason = answer === null ? 'no body' : `status ${answer.status}`
    if (!isPrepaid)
      this.#options.emit(request, { kind: 'uncharged', payer: sale.key.payer, reason })
    return instead
  }

  /** Settles the payment of an answer. @returns the response: the answer, if it is paid */
  async complete(
    request: FastifyRequest,
    sale: Sale,
    answer: BufferedResponse,
  ): Promise<BufferedResponse> {
    sale.cancelLapse()
    const final = this.#lapsed.has(sale.inFlight)
      ? timedOut(request, sale.prepaid)
      : await this.#charged(request, sale, answer)
    sale.inFlight.close(final)
    return final
  }

  /** The handler broke a rule of paid answers. */
  fail(request: FastifyRequest, sale: Sale, cause: unknown): BufferedResponse {
    const answer = internalError(request)
    this.#options.emit(request, { kind: 'failed', cause })
    return this.cancel(request, sale, answer) ?? answer
  }

  #lapseLater(
    request: FastifyRequest,
    inFlight: InFlightPayment,
    prepaid: Sale['prepaid'],
  ): () => void {
    return this.#options.clock.after(HANDLER_MS_MAX, () => {
      this.#lapsed.add(inFlight)
      inFlight.close(timedOut(request, prepaid))
    })
  }

  async #charged(
    request: FastifyRequest,
    sale: Sale,
    answer: BufferedResponse,
  ): Promise<BufferedResponse> {
    const { answers, clock, emit, exposure, ledger, responses, coordinator } = this.#options
    const { key, payment, prepaid } = sale
    const beganMs = clock.nowMs()
    let finality: Finality
    try {
      const entry = {
        ...sale,
        access: sale.inFlight.access,
        route: request.routeOptions.url ?? '',
        amount: payment.requirement.amount,
        finality: await this.#finality(sale),
        exposure,
        validBeforeSeconds: payment.validBeforeSeconds,
        wire: payment.wire,
        answer,
      }
      const begin = () => ledger.begin(entry, clock.nowMs())
      const begun = await measured(request, 'ledger begin', begin)
      if (begun.kind === 'taken') return await answers.overtaken(request, sale)
      if (begun.kind === 'identifier_taken') return identifierReused(request, prepaid !== null)
      finality = begun.finality
    } catch (cause) {
      emit(request, { kind: 'failed', cause })
      if (cause instanceof LedgerBusyError) return ledgerBusy(request, prepaid !== null)
      return internalError(request, prepaid !== null)
    }
    try {
      const verdict =
        prepaid === null
          ? await coordinator.settle(key, payment, finality, (step, work) =>
              measured(request, step, work),
            )
          : await coordinator.settled(key, prepaid)
      const tookMs = clock.nowMs() - beganMs
      if (prepaid === null)
        emit(request, { kind: 'attempted', network: key.network, reason: verdict.kind, tookMs })
      return await responses.concluded(request, sale, verdict, answer, tookMs)
    } catch (cause) {
      emit(request, { kind: 'failed', cause })
      return settlementUnknown(request, null)
    }
  }

  /** `confirmed` for a payer whose transfer failed once after its answer was sent. */
  async #finality({ key, payment }: Sale): Promise<Finality> {
    const configured = this.#options.finality(payment.requirement.amount)
    return configured === 'confirmed' || (await this.#options.ledger.hasLost(key.payer))
      ? 'confirmed'
      : configured
  }
}

function timedOut(request: FastifyRequest, prepaid: Sale['prepaid']): BufferedResponse {
  const late = answerTimedOut(request)
  return prepaid === null ? late : chargedBefore(request, late)
}
