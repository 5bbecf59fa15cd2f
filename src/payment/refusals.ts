import type { FastifyRequest } from 'fastify'
import type { ProblemCode, ProblemFacts } from '../domain/problem.ts'
import { problem } from '../domain/problem.ts'
import type { BufferedResponse } from './buffered-response.ts'
import type { LimitHit } from './failed-payments.ts'
import type { Unreachable } from './payment.ts'
import type { LimitPolicy, RateAllowance } from './rate-limit.ts'
import { requestPath } from './resource.ts'

/** A transaction on Base takes one block of two seconds. */
const RETRY_SECONDS = 2

/** What follows in every case where the buyer need not sign again. */
const again = { retryAfterSeconds: RETRY_SECONDS, paymentReusable: true }

export function malformed(request: FastifyRequest, reason: string): BufferedResponse {
  return refuse(request, 'malformed_payment', { detail: `${reason}.` })
}

export function limited(
  request: FastifyRequest,
  limit: LimitPolicy,
  allowance: RateAllowance,
): BufferedResponse {
  const answer = refuse(request, 'rate_limited', {
    detail: `Too many payments. Send the same payment again in ${allowance.resetSeconds} s.`,
    retryAfterSeconds: allowance.resetSeconds,
    paymentReusable: true,
  })
  return { ...answer, headers: { ...answer.headers, ...limit.headers(allowance) } }
}

/** For programs in a loop, which a 402 would only keep there. */
export function failedTooOften(request: FastifyRequest, hit: LimitHit): BufferedResponse {
  const { limit, allowance } = hit
  const answer = refuse(request, 'rate_limited', {
    ...failureFacts(hit),
    retryAfterSeconds: allowance.resetSeconds,
  })
  return { ...answer, headers: { ...answer.headers, ...limit.headers(allowance) } }
}

function failureFacts(hit: LimitHit): ProblemFacts {
  const { resetSeconds } = hit.allowance
  switch (hit.of) {
    case 'address':
      return {
        detail:
          `Too many payments from this address failed. Invalid ones are blocked for ${resetSeconds} s; ` +
          'payers who have bought here before are still served.',
      }
    case 'unverified':
      return {
        detail:
          'Too many payments from this address failed, and this payer has not bought here before. Nothing was ' +
          `charged. Send the same payment again in ${resetSeconds} s, or now from another address.`,
        paymentReusable: true,
      }
    case 'wallet':
      return {
        detail:
          'The chain refused too many payments of this wallet. Look at its balance, and send this payment ' +
          `again in ${resetSeconds} s.`,
        paymentReusable: true,
      }
    case 'loop': {
      const { reason, field, hint } = hit.rejected
      return {
        detail:
          `Payments of this wallet fail again and again for the same reason, ${reason}. Trying again does ` +
          `not help. ${hint} Then wait ${resetSeconds} s.`,
        more: { reason, ...(field === null ? {} : { field }) },
      }
    }
    default:
      return hit satisfies never
  }
}

export function tooManyInFlight(request: FastifyRequest): BufferedResponse {
  return refuse(request, 'rate_limited', {
    detail: 'Too many payments are in flight. Send the same payment again.',
    ...again,
  })
}

export function stillInFlight(request: FastifyRequest): BufferedResponse {
  return refuse(request, 'payment_in_flight', {
    detail:
      'The first request with this payment is still at work, and may charge it. Send it again.',
    ...again,
    charged: null,
  })
}

/**
 * The one refusal for callers without access to what a payment bought. It does not reveal whether this call is the one
 * that was bought, whether the answer is still stored, or whether the payment came here at all.
 */
export function paymentReused(request: FastifyRequest): BufferedResponse {
  return refuse(request, 'payment_replayed', {
    detail:
      'This payment was used before. Its answer is given again only to the request that bought it: the same URL ' +
      'and the same payment with its extensions, or without any from the same address within two minutes. ' +
      'Nothing more was charged. Sign a new payment for a new answer.',
    charged: null,
  })
}

/** The nonce belongs to another authorization of the same wallet, which its owner alone can have signed. */
export function nonceReused(request: FastifyRequest): BufferedResponse {
  return refuse(request, 'payment_replayed', {
    detail:
      'Another payment of this wallet has this nonce. Nothing was charged for this one. Sign a new payment.',
  })
}

/** Nobody came for the answer in time. */
export function answerExpired(request: FastifyRequest, isSettled: boolean): BufferedResponse {
  return refuse(request, 'payment_replayed', {
    detail:
      'This payment was used before, and the answer that it bought is not kept any more. Sign a new one for a ' +
      'new answer.',
    charged: isSettled ? true : null,
  })
}

/** The buyer's own name for its payments: whoever gave it to another one must not pay twice for it. */
export function identifierReused(request: FastifyRequest): BufferedResponse {
  return refuse(request, 'payment_replayed', {
    detail:
      'Another payment of this wallet has this payment identifier. Nothing was charged for this one. Send ' +
      'the first payment again for its answer, or give this one an identifier of its own.',
    param: 'extensions.payment-identifier.info.id',
  })
}

/** The buyer has what this would send, and it is still the newest. */
export function notModified({ headers }: BufferedResponse): BufferedResponse {
  const { 'content-type': _type, ...rest } = headers
  return { status: 304, headers: rest, body: Buffer.alloc(0) }
}

export function unavailable(
  request: FastifyRequest,
  { isLasting = false, retryAfterSeconds }: Prospect = {},
): BufferedResponse {
  if (isLasting)
    return refuse(request, 'facilitator_refused', {
      detail:
        'The facilitator does not take this payment. Nothing was charged. Sending it again does not help: pay ' +
        'on another network, or from another wallet.',
    })
  const when = retryAfterSeconds === undefined ? '' : ` in ${retryAfterSeconds} s`
  return refuse(request, 'facilitator_unavailable', {
    detail: `The payment could not be carried out. Nothing was charged: send the same one again${when}.`,
    ...again,
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  })
}

/** The sale could not be recorded. @param isCharged its transfer was on chain before it came here */
export function ledgerBusy(request: FastifyRequest, isCharged: boolean): BufferedResponse {
  const fact = isCharged ? 'The payment was charged before' : 'Nothing was charged'
  return refuse(request, 'ledger_busy', {
    detail: `The sale could not be recorded in time. ${fact}: send the same payment again.`,
    ...again,
    charged: isCharged,
  })
}
/** What is known of trying again. */
type Prospect = Pick<Unreachable, 'retryAfterSeconds' | 'isLasting'>

/** The host is closed, but this payment was taken before. */
export function keptDuringMaintenance(
  request: FastifyRequest,
  retryAfterSeconds: number,
): BufferedResponse {
  return refuse(request, 'maintenance', {
    detail:
      'This payment was charged and its answer is kept. Send the same payment again after the maintenance.',
    retryAfterSeconds,
    paymentReusable: true,
    charged: true,
  })
}

export function answerTimedOut(request: FastifyRequest): BufferedResponse {
  return refuse(request, 'engine_timeout', {
    detail: 'No answer was ready in time. Nothing was charged: send the same payment again.',
    ...again,
  })
}

export function internalError(request: FastifyRequest): BufferedResponse {
  return refuse(request, 'internal_error', {
    detail: 'Nothing was charged. Send the same payment again.',
    ...again,
  })
}

/** Never a 402 here: a buyer who signs another payment may pay twice. */
export function settlementUnknown(
  request: FastifyRequest,
  transaction: string | null,
): BufferedResponse {
  return refuse(request, 'settlement_unknown', {
    detail:
      'The payment was sent to the chain and its outcome is not known yet. ' +
      'Do not sign another: send the same payment again to get the answer.',
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
