import type { FastifyRequest } from 'fastify'
import { isRecord, parsedJson } from '../domain/json.ts'
import type { ProblemCode, ProblemFacts } from '../domain/problem.ts'
import { problem } from '../domain/problem.ts'
import type { BufferedResponse } from './buffered-response.ts'
import type { LimitHit } from './failed-payments.ts'
import type { Unreachable } from './payment.ts'
import type { LimitPolicy, RateAllowance } from './rate-limit.ts'
import { MAY_BE_CHARGED, SEND_AGAIN } from './rejection.ts'
import { requestPath } from './resource.ts'

/** One block of Base. */
const RETRY_SECONDS = 2

/** For every response after which the buyer need not sign again. */
const again = { retryAfterSeconds: RETRY_SECONDS, paymentReusable: true }

const NOT_BY_THIS_REQUEST = 'Nothing was charged for this request.'
const CHARGE_UNKNOWN = `${NOT_BY_THIS_REQUEST} ${MAY_BE_CHARGED}`

export function malformed(request: FastifyRequest, reason: string): BufferedResponse {
  return refuse(request, 'malformed_payment', {
    detail: `${reason}. Nothing was charged. Correct the payment header and send it again.`,
  })
}

/** @param charged null for a payment that was used before, whose look-up the limit prevents */
export function limited(
  request: FastifyRequest,
  limit: LimitPolicy,
  allowance: RateAllowance,
  charged: false | null = false,
): BufferedResponse {
  const stated = charged === null ? CHARGE_UNKNOWN : NOT_BY_THIS_REQUEST
  const answer = refuse(request, 'rate_limited', {
    detail: `Too many payments. ${stated} Send the same payment again in ${allowance.resetSeconds} s.`,
    retryAfterSeconds: allowance.resetSeconds,
    paymentReusable: true,
    charged,
  })
  return { ...answer, headers: { ...answer.headers, ...limit.headers(allowance) } }
}

/**
 * Ends a loop of failures, which a 402 would continue.
 * @param charged null if an earlier request may have charged the payment
 */
export function failedTooOften(
  request: FastifyRequest,
  hit: LimitHit,
  charged: false | null,
): BufferedResponse {
  const { limit, allowance } = hit
  const { detail, ...facts } = failureFacts(hit)
  const answer = refuse(request, 'rate_limited', {
    ...facts,
    // The hint of a loop states it.
    detail:
      charged === null
        ? withCharge(detail, hit.of === 'loop' ? NOT_BY_THIS_REQUEST : CHARGE_UNKNOWN)
        : detail,
    retryAfterSeconds: allowance.resetSeconds,
    charged,
    // Its buyer must not sign another one.
    ...(charged === null && { paymentReusable: true }),
  })
  return { ...answer, headers: { ...answer.headers, ...limit.headers(allowance) } }
}

function failureFacts(hit: LimitHit): ProblemFacts {
  const { resetSeconds } = hit.allowance
  switch (hit.of) {
    case 'address':
      return {
        detail:
          'Too many payments from this IP address failed. Nothing was charged. Invalid payments from it are ' +
          `blocked for ${resetSeconds} s. Valid payments of wallets that bought here before are still accepted.`,
      }
    case 'unverified':
      return {
        detail:
          'Too many payments from this IP address failed, and this wallet has not bought here before. Nothing was ' +
          `charged. Send the same payment again in ${resetSeconds} s, or now from another IP address.`,
        paymentReusable: true,
      }
    case 'wallet':
      return {
        detail:
          'The chain rejected too many payments of this wallet. Nothing was charged. Check its balance and send ' +
          `this payment again in ${resetSeconds} s.`,
        paymentReusable: true,
      }
    case 'loop': {
      const { reason, field, hint } = hit.rejected
      return {
        detail:
          `Payments of this wallet failed repeatedly for the same reason: ${reason}. Nothing was charged. ` +
          `${hint} Wait ${resetSeconds} s before the next payment.`,
        more: { reason, ...(field === null ? {} : { field }) },
      }
    }
    default:
      return hit satisfies never
  }
}

export function tooManyInFlight(request: FastifyRequest): BufferedResponse {
  const charged = chargeOfUnverified(request)
  const stated = charged === null ? CHARGE_UNKNOWN : NOT_BY_THIS_REQUEST
  return refuse(request, 'rate_limited', {
    detail: `Too many payments are being processed. ${stated} Send the same payment again in 2 s.`,
    ...again,
    charged,
  })
}

export function stillInFlight(request: FastifyRequest): BufferedResponse {
  return refuse(request, 'payment_in_flight', {
    detail:
      'The first request with this payment is still being processed and may charge it. Send the same payment again in 2 s.',
    ...again,
    charged: null,
  })
}

/**
 * The only refusal for callers without access to the answer. It does not reveal whether this call was bought, whether
 * the answer is still stored, or whether the payment was ever presented here.
 */
export function paymentReused(request: FastifyRequest): BufferedResponse {
  return refuse(request, 'payment_replayed', {
    detail:
      'This payment was used before. Nothing more was charged. Its answer is sent again to the same URL with the ' +
      'identical payment and extensions; a payment without extensions must come from the same IP address within ' +
      'two minutes. Sign a new payment for a new answer.',
    charged: null,
  })
}

/** Another authorization of the same wallet has the nonce. */
export function nonceReused(request: FastifyRequest): BufferedResponse {
  return refuse(request, 'payment_replayed', {
    detail:
      'Another payment of this wallet has this nonce. Nothing was charged for this one. Sign a new payment with a new nonce.',
  })
}

/** The answer was not fetched in time. */
export function answerExpired(request: FastifyRequest, isSettled: boolean): BufferedResponse {
  return refuse(request, 'payment_replayed', {
    detail:
      'This payment was used before and its answer is no longer stored. Nothing more was charged. Sign a new payment ' +
      'for a new answer.',
    charged: isSettled ? true : null,
  })
}

/**
 * The identifier protects a buyer from paying twice for one purpose.
 * @param isCharged the transfer was on chain before this request
 */
export function identifierReused(request: FastifyRequest, isCharged = false): BufferedResponse {
  const charge = isCharged ? 'This one was charged before.' : 'Nothing was charged for this one.'
  return refuse(request, 'payment_replayed', {
    detail:
      `Another payment of this wallet has this payment identifier. ${charge} Send the first payment again for its ` +
      'answer, or use a new identifier.',
    param: 'extensions.payment-identifier.info.id',
    charged: isCharged,
  })
}

/** The buyer has the answer, and it is still current. */
export function notModified({ headers }: BufferedResponse): BufferedResponse {
  const { 'content-type': _type, ...rest } = headers
  return { status: 304, headers: rest, body: Buffer.alloc(0) }
}

export function unavailable(
  request: FastifyRequest,
  { isLasting = false, retryAfterSeconds }: Prospect = {},
): BufferedResponse {
  const send = (code: ProblemCode, facts: ProblemFacts) =>
    refuse(request, code, aboutPayment(facts, request.isPaymentUsed ?? null))
  if (isLasting) {
    const isKnown = request.isPaymentUsed === false
    const advice = isKnown
      ? 'Pay on another network or from another wallet; the same payment will be rejected again.'
      : SEND_AGAIN
    return send('facilitator_refused', {
      detail: `The facilitator rejected this payment. Nothing was charged. ${advice}`,
      paymentReusable: !isKnown,
    })
  }
  const when = retryAfterSeconds === undefined ? '' : ` in ${retryAfterSeconds} s`
  return send('facilitator_unavailable', {
    detail: `The payment could not be verified or settled now. Nothing was charged. Send the same payment again${when}.`,
    ...again,
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  })
}

/** @param isCharged the transfer was on chain before this request */
export function ledgerBusy(request: FastifyRequest, isCharged: boolean): BufferedResponse {
  return refuse(request, 'ledger_busy', {
    detail: `The sale could not be recorded in time. ${chargeOf(isCharged)} Send the same payment again in 2 s.`,
    ...again,
    charged: isCharged,
  })
}

/** The ledger could not be read, and nothing was begun for this request. */
export function ledgerUnavailable(request: FastifyRequest): BufferedResponse {
  return refuse(request, 'ledger_busy', {
    detail:
      'The payment ledger cannot be reached. Nothing was charged for this request. Do not sign another payment: an ' +
      'earlier request may have charged this one. Send the same payment again in 2 s.',
    ...again,
    charged: null,
  })
}

/** When and whether a retry can succeed. */
type Prospect = Pick<Unreachable, 'retryAfterSeconds' | 'isLasting'>

/** The host is in maintenance, and this payment was charged before. */
export function keptDuringMaintenance(
  request: FastifyRequest,
  retryAfterSeconds: number,
): BufferedResponse {
  return refuse(request, 'maintenance', {
    detail:
      'The service is in maintenance. This payment was charged before and its answer is stored. Send the same ' +
      'payment again after the maintenance.',
    retryAfterSeconds,
    paymentReusable: true,
    charged: true,
  })
}

export function answerTimedOut(request: FastifyRequest): BufferedResponse {
  return refuse(request, 'engine_timeout', {
    detail:
      'The answer was not ready in time. Nothing was charged. Send the same payment again in 2 s.',
    ...again,
  })
}

/** @param isCharged the transfer was on chain before this request */
export function internalError(request: FastifyRequest, isCharged = false): BufferedResponse {
  return refuse(request, 'internal_error', {
    detail: `The request failed. ${chargeOf(isCharged)} Send the same payment again in 2 s.`,
    ...again,
    charged: isCharged,
  })
}

/** @param refusal of a handler, which does not know that an earlier request charged the payment */
export function chargedBefore(
  request: FastifyRequest,
  refusal: BufferedResponse | null,
): BufferedResponse {
  const body = refusal === null ? undefined : parsedJson(refusal.body.toString())
  // A handler may also answer in another format.
  if (refusal === null || !isRecord(body) || typeof body['detail'] !== 'string')
    return internalError(request, true)
  const detail = withCharge(body['detail'], chargeOf(true))
  const facts = { detail, error: `${body['title']}: ${detail}` }
  const changed = { ...body, ...facts, charged: true, payment_reusable: true }
  return { ...refusal, body: Buffer.from(JSON.stringify(changed)) }
}

/**
 * Facts of a refusal by the host of a request with a payment.
 * @param isUsed whether an earlier request may have charged the payment; null if it was not looked up
 */
export function aboutPayment(facts: ProblemFacts, isUsed: boolean | null): ProblemFacts {
  const { detail, paymentReusable = true } = facts
  if (isUsed === false) return { ...facts, paymentReusable }
  return {
    ...{ ...facts, detail: withCharge(detail, CHARGE_UNKNOWN), charged: null },
    paymentReusable: paymentReusable && isUsed === null,
  }
}

/** What was charged of a decoded payment, as far as known before its verification: null if its settlement was refused. */
export function chargeOfUnverified({ isPaymentUsed }: FastifyRequest): false | null {
  return isPaymentUsed === null ? null : false
}

function withCharge(detail: string, stated: string): string {
  const denied = chargeOf(false)
  return detail.includes(denied) ? detail.replace(denied, stated) : `${detail} ${stated}`
}

function chargeOf(isCharged: boolean): string {
  return isCharged ? 'The payment was charged before.' : 'Nothing was charged.'
}

/** Not a 402: a buyer that signs another payment could pay twice. */
export function settlementUnknown(
  request: FastifyRequest,
  transaction: string | null,
): BufferedResponse {
  return refuse(request, 'settlement_unknown', {
    detail:
      'The outcome of this payment on chain is not known yet; it may have been charged. Do not sign another payment. ' +
      'Send the same payment again in 2 s to get the answer.',
    ...again,
    charged: null,
    ...(transaction === null ? {} : { more: { transaction } }),
  })
}

function refuse(request: FastifyRequest, code: ProblemCode, facts: ProblemFacts): BufferedResponse {
  const { body, ...rest } = problem(code, facts, {
    instance: requestPath(request.url),
    requestId: request.id,
  })
  return { ...rest, body: Buffer.from(body) }
}
