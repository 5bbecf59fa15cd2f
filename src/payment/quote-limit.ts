import type { FastifyReply, FastifyRequest } from 'fastify'
import { problem } from '../domain/problem.ts'
import { hasPayment } from './payload.ts'
import { QUOTES_PER_MINUTE } from './payment-limits.ts'
import { callerKey, localRateLimits } from './rate-limit.ts'
import { requestPath } from './resource.ts'

/** A buyer that asks for few quotes never waits for the counts of other gateways. */
const QUOTES_WITHOUT_WAIT = 1 / 4

/**
 * `onRequest` hook that limits unpaid calls of paid routes per address. It is separate from the payment plugin because
 * it runs before the other checks of the host.
 */
export function quoteLimit(quotesPerMinute = QUOTES_PER_MINUTE, limits = localRateLimits) {
  const limit = limits('ip', quotesPerMinute, QUOTES_WITHOUT_WAIT)
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const pays = request.method !== 'HEAD' && hasPayment(request.headers)
    if (request.routeOptions.config.x402 === undefined || pays) return
    const caller = callerKey(request.ip)
    const allowance = await limit.take(caller)
    reply.headers(limit.headers(allowance))
    if (allowance.allowed) {
      // A call that failed through our fault does not count.
      reply.raw.once('finish', () => {
        if (reply.statusCode >= 500) void limit.giveBack(caller)
      })
      return
    }
    const { status, headers, body } = problem(
      'rate_limited',
      {
        detail: `Too many unpaid calls from this IP address. Nothing was charged. Retry in ${allowance.resetSeconds} s.`,
        retryAfterSeconds: allowance.resetSeconds,
        paymentReusable: true,
      },
      { instance: requestPath(request.url), requestId: request.id },
    )
    return reply.code(status).headers(headers).send(body)
  }
}
