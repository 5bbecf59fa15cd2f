import type { FastifyRequest } from 'fastify'

/** An event of a payment, for logs and metrics. It never contains a signature. */
export type PaymentEvent = {
  readonly kind:
    | 'quoted'
    /** A payment arrived that is no repetition of an earlier one. */
    | 'presented'
    | 'malformed'
    | 'rejected'
    | 'limited'
    /** The payment, its nonce or its identifier was used before. */
    | 'conflict'
    | 'unavailable'
    /** The handler returned no answer that can be sold. */
    | 'uncharged'
    /** The payment can be settled; nothing was charged yet. */
    | 'verified'
    | 'settled'
    /** A settlement ended; `reason` is its verdict. Another event states what followed. */
    | 'attempted'
    /** The answer was sent before the transfer is final. */
    | 'trusted'
    /** The answer was sent and the transfer can never happen. */
    | 'lost'
    /** The outcome of a settlement is unknown. */
    | 'open'
    | 'replayed'
    /** Vouchers were claimed, or claimed money was paid out to us. */
    | 'collected'
    /** An error of this service. */
    | 'failed'
  /** Pattern of the route; null for an event after the request. */
  readonly route: string | null
  /** CAIP-2. */
  readonly network?: string
  /** Atomic units of USDC, of the event that earns a payment, or loses what was earned before. */
  readonly amount?: bigint
  /** The answer is sent with this event. */
  readonly isAnswered?: true
  readonly payer?: string
  readonly reason?: string
  readonly transaction?: string
  /** Duration of the verification or the settlement. */
  readonly tookMs?: number
  readonly cause?: unknown
}

/** Reports an event with the route of its request. */
export type EmitForRequest = (request: FastifyRequest, event: Omit<PaymentEvent, 'route'>) => void
