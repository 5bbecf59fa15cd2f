import type { FastifyRequest } from 'fastify'
import type { ProblemCode, ProblemFacts } from '../domain/problem.ts'
import { problem } from '../domain/problem.ts'
import type { Answer } from './answer.ts'
import type { Allowance, RateLimit } from './rate-limit.ts'
import { requestPath } from './resource.ts'

/** A transaction on Base takes one block of two seconds. */
const RETRY_SECONDS = 2

/** What follows in every case where nothing was charged and the buyer need not sign again. */
const again = { retryAfterSeconds: RETRY_SECONDS, paymentReusable: true }

export function malformed(request: FastifyRequest, reason: string): Answer {
  return refuse(request, 'malformed_payment', { detail: `${reason}.` })
}

export function limited(request: FastifyRequest, limit: RateLimit, allowance: Allowance): Answer {
  const answer = refuse(request, 'rate_limited', {
    detail: `Too many payments. Send the same payment again in ${allowance.resetSeconds} s.`,
    retryAfterSeconds: allowance.resetSeconds,
    paymentReusable: true,
  })
  return { ...answer, headers: { ...answer.headers, ...limit.headers(allowance) } }
}

export function crowded(request: FastifyRequest): Answer {
  return refuse(request, 'rate_limited', {
    detail: 'Too many payments are in flight. Send the same payment again.',
    ...again,
  })
}

export function inFlight(request: FastifyRequest): Answer {
  return refuse(request, 'payment_in_flight', {
    detail: 'The first request with this payment is still at work. Send it again.',
    ...again,
  })
}

export function usedElsewhere(request: FastifyRequest): Answer {
  return refuse(request, 'payment_replayed', {
    detail: 'This payment was used for another request. Sign a new one.',
  })
}

export function unavailable(request: FastifyRequest): Answer {
  return refuse(request, 'facilitator_unavailable', {
    detail: 'The payment could not be carried out. Nothing was charged: send the same one again.',
    ...again,
  })
}

/** The host is closed, but this payment was taken before. */
export function keptForLater(request: FastifyRequest, retryAfterSeconds: number): Answer {
  return refuse(request, 'maintenance', {
    detail:
      'This payment was charged and its answer is kept. Send the same payment again after the maintenance.',
    retryAfterSeconds,
    paymentReusable: true,
    charged: true,
  })
}

export function lapsed(request: FastifyRequest): Answer {
  return refuse(request, 'engine_timeout', {
    detail: 'No answer was ready in time. Nothing was charged: send the same payment again.',
    ...again,
  })
}

export function failed(request: FastifyRequest): Answer {
  return refuse(request, 'internal_error', {
    detail: 'Nothing was charged. Send the same payment again.',
    ...again,
  })
}

/** Never a 402 here: a buyer who signs another payment may pay twice. */
export function outcomeOpen(request: FastifyRequest, transaction: string | null): Answer {
  return refuse(request, 'settlement_unknown', {
    detail:
      'The payment was sent to the chain and its outcome is not known yet. ' +
      'Do not sign another: send the same payment again to get the answer.',
    ...again,
    charged: null,
    ...(transaction === null ? {} : { more: { transaction } }),
  })
}

function refuse(request: FastifyRequest, code: ProblemCode, facts: ProblemFacts): Answer {
  const { body, ...rest } = problem(code, facts, {
    instance: requestPath(request.url),
    requestId: request.id,
  })
  return { ...rest, body: Buffer.from(body) }
}
