/** Every error code of the service. Codes are public and never change their meaning. */
const problems = {
  invalid_coin: { status: 400, title: 'Unknown coin', retryable: false },
  invalid_timeframes: { status: 400, title: 'Invalid timeframes', retryable: false },
  invalid_parameter: { status: 400, title: 'Invalid parameter', retryable: false },
  unknown_parameter: { status: 400, title: 'Unknown parameter', retryable: false },
  insufficient_candles: { status: 400, title: 'Not enough candles', retryable: true },
  malformed_payment: { status: 400, title: 'Malformed payment', retryable: false },
  coin_not_covered: { status: 404, title: 'Coin not covered by this analysis', retryable: false },
  not_found: { status: 404, title: 'Not found', retryable: false },
  method_not_allowed: { status: 405, title: 'Method not allowed', retryable: false },
  payment_replayed: { status: 409, title: 'Payment already used', retryable: false },
  payment_in_flight: { status: 409, title: 'Payment in progress', retryable: true },
  header_too_large: { status: 431, title: 'Request header too large', retryable: false },
  rate_limited: { status: 429, title: 'Too many requests', retryable: true },
  engine_unavailable: { status: 500, title: 'Analysis engine unavailable', retryable: true },
  internal_error: { status: 500, title: 'Internal error', retryable: true },
  maintenance: { status: 503, title: 'Under maintenance', retryable: true },
  warming_up: { status: 503, title: 'Coverage below minimum', retryable: true },
  data_stale: { status: 503, title: 'Data missing or stale', retryable: true },
  service_not_ready: { status: 503, title: 'Sales suspended', retryable: true },
  settlement_unknown: { status: 503, title: 'Settlement outcome unknown', retryable: true },
  facilitator_unavailable: {
    status: 503,
    title: 'Payment facilitator unavailable',
    retryable: true,
  },
  ledger_busy: { status: 503, title: 'Payment ledger busy', retryable: true },
  facilitator_refused: {
    status: 503,
    title: 'Payment rejected by the facilitator',
    retryable: false,
  },
  engine_timeout: { status: 504, title: 'Analysis engine timed out', retryable: true },
} as const

export type ProblemCode = keyof typeof problems

/** Whether the same call may succeed later. */
export function isRetryable(code: ProblemCode): boolean {
  return problems[code].retryable
}

export function statusOf(code: ProblemCode): number {
  return problems[code].status
}

/** All codes, for the published documents. */
export const problemCodes = Object.entries(problems).map(([code, { status, title }]) => ({
  code: code as ProblemCode,
  status,
  title,
}))

const PROBLEM_MEDIA_TYPE = 'application/problem+json; charset=utf-8'

/** The facts of one error. */
export type ProblemFacts = {
  /** What happened, whether anything was charged, what to do, when. */
  readonly detail: string
  /** Seconds; also sent as `Retry-After`. */
  readonly retryAfterSeconds?: number
  readonly param?: string
  readonly allowed?: readonly string[]
  readonly didYouMean?: readonly string[]
  /** Whether the same call may succeed later; by default, as for the code. */
  readonly retryable?: boolean
  /** The same signed payment can be sent again. */
  readonly paymentReusable?: boolean
  /**
   * Default false; null while the outcome of the settlement is unknown, for a payment that was not looked up, and for
   * callers that cannot prove that the payment is theirs.
   */
  readonly charged?: boolean | null
  /** Members of single codes, such as `have` and `need`. */
  readonly more?: Readonly<Record<string, string | number | null>>
}

export type Problem = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Composes the response for one error: RFC 9457 with extension members. `instance` is the path of the request. */
export function problem(
  code: ProblemCode,
  facts: ProblemFacts,
  request: { readonly instance: string; readonly requestId: string },
): Problem {
  const { status, title, retryable } = problems[code]
  const retryAfter = facts.retryAfterSeconds ?? null
  return {
    status,
    headers: {
      'content-type': PROBLEM_MEDIA_TYPE,
      'cache-control': 'no-store',
      ...(retryAfter === null ? {} : { 'retry-after': String(retryAfter) }),
    },
    body: JSON.stringify({
      type: `/docs/errors#${code}`,
      title,
      status,
      detail: facts.detail,
      instance: request.instance,
      code,
      error: `${title}: ${facts.detail}`,
      retryable: facts.retryable ?? retryable,
      retry_after: retryAfter,
      charged: facts.charged === undefined ? false : facts.charged,
      payment_reusable: facts.paymentReusable ?? false,
      docs: `/docs/errors#${code}`,
      ...(facts.param === undefined ? {} : { param: facts.param }),
      ...(facts.allowed === undefined ? {} : { allowed: facts.allowed }),
      ...(facts.didYouMean === undefined ? {} : { did_you_mean: facts.didYouMean }),
      ...facts.more,
      request_id: request.requestId,
    }),
  }
}
