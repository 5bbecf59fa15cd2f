import type { FastifyReply } from 'fastify'
import type { ProblemCode, ProblemFacts } from '../domain/problem.ts'
import { problem } from '../domain/problem.ts'
import { hasPayment } from '../payment/payload.ts'
import { aboutPayment } from '../payment/refusals.ts'
import { requestPath } from '../payment/resource.ts'
import { discoveryHeaders } from './response-headers.ts'

/** Why a call is not answered: a regular outcome, so a value and not an exception. */
export type Refusal = {
  readonly kind: 'refusal'
  readonly code: ProblemCode
  readonly facts: ProblemFacts
}

export function refusal(code: ProblemCode, facts: ProblemFacts): Refusal {
  return { kind: 'refusal', code, facts }
}

export function sendRefusal(reply: FastifyReply, { code, facts }: Refusal): void {
  sendProblem(reply, code, facts)
}

const sentCodes = new WeakMap<FastifyReply, ProblemCode>()

/** The code of the problem that was sent; undefined if none was. */
export function sentCodeOf(reply: FastifyReply): ProblemCode | undefined {
  return sentCodes.get(reply)
}

/** Answers with one problem document and ends the request. */
export function sendProblem(reply: FastifyReply, code: ProblemCode, facts: ProblemFacts): void {
  const { request } = reply
  sentCodes.set(reply, code)
  const stated = hasPayment(request.headers)
    ? aboutPayment(facts, request.isPaymentUsed ?? null)
    : facts
  const { status, headers, body } = problem(code, stated, {
    instance: requestPath(request.url),
    requestId: request.id,
  })
  void reply
    .code(status)
    .headers({ ...headers, ...discoveryHeaders, 'x-request-id': request.id })
    .send(body)
}
