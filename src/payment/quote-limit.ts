import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ProblemFacts } from '../domain/problem.ts'
import { problem } from '../domain/problem.ts'
import { hasPayment } from './payload.ts'
import { QUOTES_PER_MINUTE } from './payment-limits.ts'
import { callerKey, localRateLimits } from './rate-limit.ts'
import { requestPath } from './resource.ts'

/** A buyer that asks for few quotes never waits for the counts of other gateways. */
const QUOTES_WITHOUT_WAIT = 1 / 4

export type QuoteLimit = {
  /**
   * Hook that limits unpaid calls of paid routes per address. It is separate from the payment plugin because it runs
   * before the other checks of the host.
   */
  onRequest(request: FastifyRequest, reply: FastifyReply): Promise<unknown>
  /**
   * Counts a call with a payment that a check of the host refuses, as its payment is not looked at. A call that can be
   * sold is never counted. @returns facts of the problem to send instead; null within the limit
   */
  onRefusal(request: FastifyRequest, reply: FastifyReply): Promise<ProblemFacts | null>
}

export function quoteLimit(
  quotesPerMinute = QUOTES_PER_MINUTE,
  limits = localRateLimits,
): QuoteLimit {
  const limit = limits('ip', quotesPerMinute, QUOTES_WITHOUT_WAIT)
  const count = async (request: FastifyRequest, reply: FastifyReply, calls: string) => {
    const allowance = await limit.take(callerKey(request.ip))
    reply.headers(limit.headers(allowance))
    if (allowance.allowed) return null
    return {
      detail: `Too many ${calls} calls from this IP address. Nothing was charged. Retry in ${allowance.resetSeconds} s.`,
      retryAfterSeconds: allowance.resetSeconds,
      paymentReusable: true,
    }
  }
  return {
    async onRequest(request, reply) {
      const pays = request.method !== 'HEAD' && hasPayment(request.headers)
      if (request.routeOptions.config.x402 === undefined || pays) return undefined
      const exceeded = await count(request, reply, 'unpaid')
      if (exceeded === null) {
        // A call that failed through our fault does not count.
        reply.raw.once('finish', () => {
          if (reply.statusCode >= 500) void limit.giveBack(callerKey(request.ip))
        })
        return undefined
      }
      const { status, headers, body } = problem('rate_limited', exceeded, {
        instance: requestPath(request.url),
        requestId: request.id,
      })
      return reply.code(status).headers(headers).send(body)
    },
    onRefusal: (request, reply) => count(request, reply, 'invalid'),
  }
}
