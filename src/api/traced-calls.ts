import type { FastifyInstance } from 'fastify'
import type { CallStep } from '../payment/call-steps.ts'
import { CallSteps } from '../payment/call-steps.ts'
import { hasPayment } from '../payment/payload.ts'
import { sentCodeOf } from './send-problem.ts'

/** A paid call that has ended. It names neither payer, payment nor answer. */
export type CallTrace = {
  readonly method: string
  /** Pattern of the route. */
  readonly route: string
  readonly status: number
  /** Error code of the response. */
  readonly code: string | null
  readonly requestId: string
  /** Until the response was sent. */
  readonly durationMs: number
  readonly steps: readonly CallStep[]
}

/**
 * Traces calls of paid routes that carry a payment. The context of a caller (`traceparent`) is not used: it could choose
 * which calls are kept, and join its spans to those of others.
 * @param isSampled whether the next call is traced
 */
export function traceCalls(
  app: FastifyInstance,
  isSampled: () => boolean,
  report: (trace: CallTrace) => void,
): void {
  app.decorateRequest('callSteps', null)
  app.addHook('onRequest', (request, reply, done) => {
    const isPaid = request.routeOptions.config.x402 !== undefined && hasPayment(request.headers)
    if (isPaid && request.method === 'GET' && isSampled()) request.callSteps = new CallSteps(reply)
    done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    const { callSteps } = request
    if (callSteps)
      report({
        ...{ method: request.method, route: request.routeOptions.url ?? '' },
        ...{ status: reply.statusCode, code: sentCodeOf(reply) ?? null, requestId: request.id },
        ...{ durationMs: reply.elapsedTime, steps: callSteps.steps },
      })
    done()
  })
}
