import type { ProblemCode, ProblemFacts } from '../../domain/problem.ts'

/** What one code means and what the caller does next, with an example of its problem. */
type ErrorGuide = { readonly meaning: string; readonly example: ProblemFacts }

const again = { retryAfterSeconds: 2, paymentReusable: true }

export const errorGuide: Readonly<Record<ProblemCode, ErrorGuide>> = {
  invalid_coin: {
    meaning: 'No perpetual has this ticker. Use a ticker from /coins or from did_you_mean.',
    example: {
      detail: 'No perpetual is listed as "BTCC". GET /coins lists all tickers.',
      param: 'coin',
      didYouMean: ['BTC'],
    },
  },
  invalid_timeframes: {
    meaning: 'timeframes contains an unsupported value. allowed lists the supported timeframes.',
    example: {
      detail: 'timeframes must be a comma-separated list of 15m, 1h, 4h.',
      param: 'timeframes',
      allowed: ['15m', '1h', '4h'],
    },
  },
  invalid_parameter: {
    meaning:
      'Invalid parameter value. param names it; allowed lists valid values. retryable: true: the current answer lacks ' +
      'what fields names; a later one may have it.',
    example: {
      detail: 'view must be one of full, compact.',
      param: 'view',
      allowed: ['full', 'compact'],
    },
  },
  unknown_parameter: {
    meaning:
      'The path does not take this parameter. param names it; allowed lists the parameters of the path. ' +
      'Nothing was quoted or charged. utm_* and _ are ignored.',
    example: {
      detail: 'Unknown parameter "timeframe". Parameters of this call: timeframes, view, fields.',
      param: 'timeframe',
      allowed: ['timeframes', 'view', 'fields'],
      didYouMean: ['timeframes'],
    },
  },
  insufficient_candles: {
    meaning:
      'The coin was listed too recently for this timeframe. Request a shorter timeframe or retry later.',
    example: {
      detail: 'NEWCOIN has 17 closed 4h candles; 200 are required. Nothing was charged.',
      more: { timeframe: '4h', have: 17, need: 200 },
    },
  },
  malformed_payment: {
    meaning: 'The payment header cannot be decoded. The payment was not used: encode it again.',
    example: {
      detail:
        'The payment header is not base64. Nothing was charged. Correct the payment header and send it again.',
    },
  },
  coin_not_covered: {
    meaning: 'The coin is listed, but this analysis has no source for it. allowed lists its coins.',
    example: {
      detail: 'No source of /basis covers PURR.',
      param: 'coin',
      allowed: ['BTC', 'ETH', 'SOL'],
    },
  },
  not_found: {
    meaning: 'The path does not exist. GET / lists all paths.',
    example: { detail: 'This path does not exist. GET / lists all paths.' },
  },
  method_not_allowed: {
    meaning: 'The path does not support this method. The Allow header lists the supported methods.',
    example: { detail: 'This path supports GET, HEAD, OPTIONS.' },
  },
  payment_replayed: {
    meaning:
      'This payment, its nonce or its payment identifier was already used; detail states which. To get the answer of an ' +
      'earlier payment, repeat its identical request: same URL, same payment with all extensions of the quote. charged: ' +
      'false: this payment was not charged. true: its answer is no longer stored. null: unknown, or not shown to this ' +
      'caller. Sign a new payment for a new answer.',
    example: {
      detail:
        'This payment was used before. Nothing more was charged. Sign a new payment for a new answer.',
      charged: null,
    },
  },
  payment_in_flight: {
    meaning:
      'An earlier request with this payment is being processed and may charge it. Send the same payment again.',
    example: {
      detail:
        'The first request with this payment is still being processed and may charge it. Send the same payment again in 2 s.',
      ...again,
      charged: null,
    },
  },
  header_too_large: {
    meaning: 'The request line and headers exceed 16 KB or 100 lines.',
    example: {
      detail: 'The request line and headers exceed 16 KB. Send fewer or shorter headers.',
      charged: null,
    },
  },
  rate_limited: {
    meaning:
      'Too many calls. Retry after retry_after seconds with the same payment. This request used no payment; charged is ' +
      'null if an earlier one may have.',
    example: {
      detail: 'Too many unpaid calls from this IP address. Nothing was charged. Retry in 12 s.',
      retryAfterSeconds: 12,
      paymentReusable: true,
    },
  },
  engine_unavailable: {
    meaning: 'The analysis engine is not running. Nothing was charged. Retry after retry_after.',
    example: {
      detail: 'The analysis engine is not running. Nothing was charged. Retry in 5 s.',
      retryAfterSeconds: 5,
    },
  },
  internal_error: {
    meaning: 'A defect of the service. charged states whether the payment was taken.',
    example: {
      detail: 'The request failed. Nothing was charged. Send the same payment again in 2 s.',
      ...again,
    },
  },
  maintenance: {
    meaning: 'Paid analyses are disabled for maintenance. /health and /coins remain available.',
    example: {
      detail:
        'Paid analyses are disabled for maintenance; /health and /coins remain available. Nothing was charged.',
      retryAfterSeconds: 3600,
    },
  },
  warming_up: {
    meaning:
      'The data are below the coverage minimum of this analysis: missing names the input, have is the present count, need ' +
      'the required one. Nothing was charged. ready_at_iso states when the minimum is reached, if known.',
    example: {
      detail:
        'Available changes of open interest: 0; required: 1. Nothing was charged. Retry in 212 s.',
      retryAfterSeconds: 212,
      more: {
        missing: 'changes of open interest',
        have: 0,
        need: 1,
        ready_in_seconds: 212,
        ready_at_iso: '2026-11-20T14:04:30.000Z',
      },
    },
  },
  data_stale: {
    meaning:
      'Current data are not available: an input is missing or too old, the engine is starting, or quality fell below the ' +
      'quote. Nothing was charged. Retry after retry_after.',
    example: {
      detail:
        'The input mark of BTC is 75 s old; the limit is 60 s. Nothing was charged. Retry in 5 s.',
      retryAfterSeconds: 5,
    },
  },
  service_not_ready: {
    meaning:
      'The answer is available but cannot be sold: check names the failed check (ledger_writable, can_settle, clock, accepts_sales, engine_agrees, engine_clock). ' +
      'Nothing was charged, and a payment in the call was not used.',
    example: {
      detail: 'No payment method can settle now. Nothing was charged. Retry in 5 s.',
      retryAfterSeconds: 5,
      more: { check: 'can_settle' },
    },
  },
  settlement_unknown: {
    meaning:
      'The payment was sent to the chain; its outcome is not known yet. Do not sign another payment: send the same one again.',
    example: {
      detail:
        'The outcome of this payment on chain is not known yet; it may have been charged. Do not sign another payment. Send the same payment again in 2 s to get the answer.',
      ...again,
      charged: null,
    },
  },
  facilitator_unavailable: {
    meaning: 'The facilitator cannot be reached. Nothing was charged. Send the same payment again.',
    example: {
      detail:
        'The payment could not be verified or settled now. Nothing was charged. Send the same payment again.',
      ...again,
    },
  },
  ledger_busy: {
    meaning:
      'The payment ledger is locked or cannot be reached, so the sale was not recorded. charged states whether the ' +
      'payment was taken; null if the ledger cannot be read. Send the same payment again.',
    example: {
      detail:
        'The sale could not be recorded in time. Nothing was charged. Send the same payment again in 2 s.',
      ...again,
    },
  },
  facilitator_refused: {
    meaning:
      'The facilitator rejects this payment permanently. This request charged nothing. charged: false: pay on another ' +
      'network or from another wallet. null: an earlier request may have charged the payment; send the same one again.',
    example: {
      detail:
        'The facilitator rejected this payment. Nothing was charged. Pay on another network or from another wallet; the same payment will be rejected again.',
    },
  },
  engine_timeout: {
    meaning:
      'The engine has not responded for 15 s, or the answer was not ready in time. Nothing was charged. Retry after ' +
      'retry_after.',
    example: {
      detail: 'The analysis engine has not responded for 15 s. Nothing was charged. Retry in 5 s.',
      retryAfterSeconds: 5,
    },
  },
}
