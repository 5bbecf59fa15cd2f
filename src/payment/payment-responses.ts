import type { FastifyRequest } from 'fastify'
import type { BufferedResponse } from './buffered-response.ts'
import type { Delivery } from './delivery.ts'
import { CALLER_ACCESS_OPEN_MS } from './extensions/answer-access.ts'
import type { FailedPayments, LimitHit } from './failed-payments.ts'
import type { EmitForRequest } from './payment-event.ts'
import type { PresentedPayment } from './presented-payment.ts'
import type { Quotes } from './quotes.ts'
import type { LimitPolicy, RateAllowance } from './rate-limit.ts'
import { callerKey } from './rate-limit.ts'
import { refusalHeaders } from './receipt.ts'
import {
  chargeOfUnverified,
  failedTooOften,
  limited,
  settlementUnknown,
  unavailable,
} from './refusals.ts'
import type { Rejection } from './rejection.ts'
import type { SettlementVerdict } from './settlement-coordinator.ts'
import type { Terms } from './terms.ts'

export type PaymentResponsesOptions = {
  readonly failures: FailedPayments
  readonly quotes: Quotes
  readonly delivery: Delivery
  readonly emit: EmitForRequest
}

type UnpaidVerdict = Exclude<SettlementVerdict, { kind: 'paid' | 'trusted' }>

/** Turns what is known about a payment into the response to its request. Counts failures and reports events. */
export class PaymentResponses {
  readonly #options: PaymentResponsesOptions

  constructor(options: PaymentResponsesOptions) {
    this.#options = options
  }

  /** @param answer what the payment buys, sent only for a paid or a trusted verdict */
  async concluded(
    request: FastifyRequest,
    presented: PresentedPayment,
    verdict: SettlementVerdict,
    answer: BufferedResponse,
    tookMs?: number,
  ): Promise<BufferedResponse> {
    const { delivery, emit } = this.#options
    if (verdict.kind === 'open') await delivery.expectCaller(presented, CALLER_ACCESS_OPEN_MS)
    if (verdict.kind !== 'paid' && verdict.kind !== 'trusted')
      return this.unpaid(request, presented, verdict)
    const { transaction, extensionResponses } = verdict
    const kind = verdict.kind === 'paid' ? 'settled' : 'trusted'
    const { payer, network } = presented.key
    const { amount } = presented.payment.requirement
    const took = tookMs === undefined ? {} : { tookMs }
    emit(request, { kind, payer, network, amount, isAnswered: true, transaction, ...took })
    const delivered = await delivery.deliver(request, presented, answer, transaction)
    if (extensionResponses === undefined) return delivered
    const headers = { ...delivered.headers, 'extension-responses': extensionResponses }
    return { ...delivered, headers }
  }

  async unpaid(
    request: FastifyRequest,
    presented: PresentedPayment,
    verdict: UnpaidVerdict,
  ): Promise<BufferedResponse> {
    const { emit } = this.#options
    const { payer } = presented.key
    switch (verdict.kind) {
      case 'refused':
        return this.#refused(request, presented, verdict.rejection)
      case 'unavailable':
        emit(request, { kind: 'unavailable', payer, reason: verdict.reason })
        return unavailable(request, verdict)
      case 'open':
        emit(request, { kind: 'open', payer, reason: verdict.reason })
        return settlementUnknown(request, verdict.transaction)
      default:
        return verdict satisfies never
    }
  }

  /** For a payment that is invalid without asking the chain. @param payer '' where it was not decoded */
  async invalid(
    request: FastifyRequest,
    terms: Terms,
    rejection: Rejection,
    payer = '',
  ): Promise<BufferedResponse> {
    const { failures, quotes, emit } = this.#options
    const counted = await failures.countInvalid(callerKey(request.ip), payer, rejection)
    if ('limit' in counted) return this.limitHit(request, counted, rejection.charged)
    emit(request, { kind: 'rejected', reason: counted.reason })
    return quotes.quote(request, terms, counted)
  }

  /** Ends a loop of failures. @param charged null if an earlier request may have charged the payment */
  limitHit(
    request: FastifyRequest,
    hit: LimitHit,
    charged: false | null = chargeOfUnverified(request),
  ): BufferedResponse {
    this.#options.emit(request, { kind: 'limited' })
    return failedTooOften(request, hit, charged)
  }

  /** @param charged null for a payment that was used before */
  limited(
    request: FastifyRequest,
    limit: LimitPolicy,
    allowance: RateAllowance,
    charged: false | null = chargeOfUnverified(request),
  ): BufferedResponse {
    this.#options.emit(request, { kind: 'limited' })
    return limited(request, limit, allowance, charged)
  }

  /** For a payment that the chain, or its facilitator, refuses. */
  async #refused(
    request: FastifyRequest,
    { key: { payer }, payment, terms }: PresentedPayment,
    rejection: Rejection,
  ): Promise<BufferedResponse> {
    const { failures, quotes, emit } = this.#options
    const { limitedAs = payer } = payment
    const counted = await failures.countRefused(callerKey(request.ip), limitedAs, rejection)
    if ('limit' in counted) return this.limitHit(request, counted, rejection.charged)
    const { reason } = counted
    emit(request, { kind: 'rejected', payer, reason })
    const answer = quotes.quote(request, terms, counted)
    return { ...answer, headers: { ...answer.headers, ...refusalHeaders(payment, reason) } }
  }
}
