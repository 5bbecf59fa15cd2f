import type { ProblemCode, ProblemFacts } from '../../domain/problem.ts'

/** What each code means and what to do next, and what a refusal with it may say. */
type ErrorGuide = { readonly meaning: string; readonly example: ProblemFacts }

const again = { retryAfterSeconds: 2, paymentReusable: true }

/** Examples are facts as the service states them; the body is made of them as every other. */
export const errorGuide: Readonly<Record<ProblemCode, ErrorGuide>> = {
  invalid_coin: {
    meaning: 'No perpetual is listed by that name. Take a ticker from /coins or from did_you_mean.',
    example: {
      detail: 'No perpetual is listed as "BTCC"; /coins lists them all.',
      param: 'coin',
      didYouMean: ['BTC'],
    },
  },
  invalid_timeframes: {
    meaning: 'timeframes holds something other than 15m, 1h and 4h. Send only what allowed lists.',
    example: {
      detail: 'timeframes is a comma-separated list of 15m, 1h, 4h.',
      param: 'timeframes',
      allowed: ['15m', '1h', '4h'],
    },
  },
  invalid_parameter: {
    meaning: 'A parameter does not hold; param names it and allowed lists what would.',
    example: {
      detail: 'view is one of full, compact.',
      param: 'view',
      allowed: ['full', 'compact'],
    },
  },
  unknown_parameter: {
    meaning:
      'The call has a parameter that this path does not take: param names it, allowed lists those that it takes. ' +
      'Nothing was quoted or charged; utm_* and _ are ignored.',
    example: {
      detail: 'The parameter "timeframe" is unknown; this call takes timeframes, view, fields.',
      param: 'timeframe',
      allowed: ['timeframes', 'view', 'fields'],
      didYouMean: ['timeframes'],
    },
  },
  insufficient_candles: {
    meaning: 'The coin is too young for this timeframe. Ask for a shorter one, or later.',
    example: {
      detail: 'NEWCOIN has 17 candles of 4h; this analysis needs 200.',
      more: { timeframe: '4h', have: 17, need: 200 },
    },
  },
  malformed_payment: {
    meaning: 'The payment header cannot be read. Encode the payment again; it was not used.',
    example: { detail: 'The payment is not base64 of a JSON object.' },
  },
  coin_not_covered: {
    meaning:
      'The coin is real, but no source of this analysis knows it; allowed lists those that are known.',
    example: {
      detail: 'No source of this analysis knows PURR.',
      param: 'coin',
      allowed: ['BTC', 'ETH', 'SOL'],
    },
  },
  not_found: {
    meaning: 'There is nothing at this path; / lists what there is.',
    example: { detail: 'There is nothing at this path; / lists what there is.' },
  },
  method_not_allowed: {
    meaning: 'The path takes other methods; the Allow header names them.',
    example: { detail: 'This path takes GET, HEAD, OPTIONS.' },
  },
  payment_replayed: {
    meaning:
      'The payment was used before. Its answer is sent again only to the request that bought it, which shows the secret ' +
      'of its quote; to others charged is null. charged: true: the answer is not kept any more. Sign a new payment.',
    example: {
      detail: 'This payment was used before. Sign a new payment for a new answer.',
      charged: null,
    },
  },
  payment_in_flight: {
    meaning:
      'The first request with this payment is still at work, and may charge it. Send the same payment again.',
    example: {
      detail:
        'The first request with this payment is still at work, and may charge it. Send it again.',
      ...again,
      charged: null,
    },
  },
  header_too_large: {
    meaning: 'Request line and headers together exceed 16 KB.',
    example: {
      detail: 'Request line and headers together exceed the limit; send fewer or shorter ones.',
    },
  },
  rate_limited: {
    meaning: 'Too many calls. Wait for retry_after; a payment that came along was not used.',
    example: {
      detail: 'Too many unpaid calls. Try again in 12 s.',
      retryAfterSeconds: 12,
      paymentReusable: true,
    },
  },
  engine_unavailable: {
    meaning: 'The analysis engine is being restarted. Try again; nothing was charged.',
    example: {
      detail: 'The analysis engine is not running at the moment.',
      retryAfterSeconds: 5,
    },
  },
  internal_error: {
    meaning: 'Something went wrong on our side. Nothing was charged.',
    example: { detail: 'Nothing was charged. Send the same payment again.', ...again },
  },
  maintenance: {
    meaning: 'Paid analyses are switched off for a while; /health and /coins go on.',
    example: {
      detail: 'Paid analyses are switched off for maintenance; /health and /coins go on.',
      retryAfterSeconds: 3600,
    },
  },
  warming_up: {
    meaning:
      'Less is known than the floor of coverage of this analysis: have of need of what is missing. Ask again after retry_after; ready_at_iso says when, where that is known.',
    example: {
      detail:
        'There are 0 changes of open interest; 1 are needed. oi is sold from one change of open interest: the shortest is known after five minutes of readings. Expected in 212 s.',
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
    meaning: 'What the answer rests on is missing or older than guaranteed, so it is not sold.',
    example: {
      detail: 'The data behind this answer is 75 s old; at most 60 s are guaranteed.',
      retryAfterSeconds: 5,
    },
  },
  service_not_ready: {
    meaning:
      'The answer is there and cannot be sold now: check says why (ledger_writable, can_settle, clock). Nothing was charged, and a payment that came along was not used.',
    example: {
      detail: 'Payments cannot be settled at the moment. Nothing was charged; ask again in 5 s.',
      retryAfterSeconds: 5,
      more: { check: 'can_settle' },
    },
  },
  settlement_unknown: {
    meaning:
      'The payment was sent to the chain and its outcome is not known yet. Never sign another: send the same one again.',
    example: {
      detail:
        'The payment was sent to the chain and its outcome is not known yet. Do not sign another: send the same payment again to get the answer.',
      ...again,
      charged: null,
    },
  },
  facilitator_unavailable: {
    meaning:
      'Whoever settles payments is not to be reached. Nothing was charged: send the same payment again.',
    example: {
      detail: 'The payment could not be carried out. Nothing was charged: send the same one again.',
      ...again,
    },
  },
  ledger_busy: {
    meaning:
      'Another program holds the payment ledger, so the sale could not be recorded. Nothing was charged, unless charged says so: send the same payment again.',
    example: {
      detail:
        'The sale could not be recorded in time. Nothing was charged: send the same payment again.',
      ...again,
    },
  },
  facilitator_refused: {
    meaning:
      'The service that settles payments does not take this one, and will not take it later. Nothing was charged: pay on another network, or from another wallet.',
    example: {
      detail:
        'The facilitator does not take this payment. Nothing was charged. Sending it again does not help: pay on another network, or from another wallet.',
    },
  },
  engine_timeout: {
    meaning: 'The engine is silent for more than 15 seconds. Nothing was charged.',
    example: {
      detail: 'The analysis engine has not answered for more than 15 seconds.',
      retryAfterSeconds: 5,
    },
  },
}
