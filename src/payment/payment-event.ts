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
    | 'settled'
    /** The outcome of a settlement is not known. */
    | 'open'
    | 'replayed'
    /** A fault of ours. */
    | 'failed'
  /** Pattern of the route; null when it happened after the request. */
  readonly route: string | null
  readonly payer?: string
  readonly reason?: string
  readonly transaction?: string
  readonly cause?: unknown
}
