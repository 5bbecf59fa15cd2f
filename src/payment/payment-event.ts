import type { FastifyRequest } from 'fastify'

/** What happened to a payment, for logs and metrics. Never holds a signature. */
export type PaymentEvent = {
  readonly kind:
    | 'quoted'
    | 'malformed'
    | 'rejected'
    | 'limited'
    /** The payment, or its nonce, was used for something else. */
    | 'conflict'
    | 'unavailable'
    /** The handler gave no answer that is worth money. */
    | 'uncharged'
    /** It can be taken; nothing was taken yet. */
    | 'verified'
    | 'settled'
    /** The answer was given, the transfer is with the chain. */
    | 'trusted'
    /** The answer was given and the transfer will never come. */
    | 'lost'
    /** The outcome of a settlement is not known. */
    | 'open'
    | 'replayed'
    /** What vouchers promised was claimed, or paid out to us. */
    | 'collected'
    /** A fault of ours. */
    | 'failed'
  /** Pattern of the route; null when it happened after the request. */
  readonly route: string | null
  readonly payer?: string
  readonly reason?: string
  readonly transaction?: string
  /** How long the verification, or the settlement, has taken. */
  readonly tookMs?: number
  readonly cause?: unknown
}

/** Reports an event of a request, with the route of that request. */
export type EmitForRequest = (request: FastifyRequest, event: Omit<PaymentEvent, 'route'>) => void
