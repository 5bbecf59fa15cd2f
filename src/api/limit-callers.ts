import type { FastifyReply, FastifyRequest } from 'fastify'
import { callerKey, localRateLimits } from '../payment/rate-limit.ts'
import { sendProblem } from './send-problem.ts'

/**
 * Hook `onRequest` that limits the free calls of an address that read from the disk.
 * @param calls for the error text, such as `proofs`
 */
export function limitCallers(name: string, perMinute: number, calls: string) {
  const limit = localRateLimits(name, perMinute)
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const allowance = await limit.take(callerKey(request.ip))
    void reply.headers(limit.headers(allowance))
    if (allowance.allowed) return
    sendProblem(reply, 'rate_limited', {
      detail: `Too many ${calls}. Retry in ${allowance.resetSeconds} s.`,
      retryAfterSeconds: allowance.resetSeconds,
    })
    return reply
  }
}
