import { dexReasons } from '../../domain/dex.ts'
import type { ProblemCode } from '../../domain/problem.ts'
import { problem, problemCodes } from '../../domain/problem.ts'
import { errorGuide } from './error-guide.ts'
import type { AnalysisOffer } from './offer-of.ts'
import type { JsonSchema } from './published-schema.ts'

const text = (description: string): JsonSchema => ({ type: 'string', description })
const percent = (description: string): JsonSchema => ({
  type: 'number',
  description,
  'x-unit': 'percent',
})
const texts = (description: string): JsonSchema => ({
  type: 'array',
  items: { type: 'string' },
  description,
})
const instant: JsonSchema = { type: 'string', format: 'date-time', description: 'UTC, ISO 8601.' }
const count = (description: string): JsonSchema => ({
  type: 'integer',
  minimum: 0,
  description,
  'x-unit': 'count',
})

/** Name of the schema of an answer: `PulseAnswer`. */
export function answerSchemaName({ id }: Pick<AnalysisOffer, 'id'>): string {
  const words = id.split('-').map((word) => word.charAt(0).toUpperCase() + word.slice(1))
  return `${words.join('')}Answer`
}

/** The refusal with that code, as the service writes it. */
export function problemExample(code: ProblemCode, instance: string): unknown {
  const { body } = problem(code, errorGuide[code].example, { instance, requestId: 'm3x9k2-1f' })
  return JSON.parse(body)
}

const problemStatuses = [...new Set(problemCodes.map(({ status }) => status))].sort()

const codesByStatus = problemStatuses
  .map((status) => {
    const rows = problemCodes.filter((row) => row.status === status)
    return `${status}: ${rows.map(({ code }) => code).join(', ')}`
  })
  .join('; ')

/** RFC 9457, with members of ours. */
export const problemSchema: JsonSchema = {
  type: 'object',
  description: 'RFC 9457. /docs/errors explains every code.',
  properties: {
    type: text('URL path of the words about this code.'),
    title: text('The code in words.'),
    status: { type: 'integer', enum: problemStatuses },
    detail: text('What is wrong and what to do next.'),
    instance: text('Path of the request.'),
    code: {
      type: 'string',
      enum: problemCodes.map(({ code }) => code),
      description: `Never changes its meaning. ${codesByStatus}.`,
    },
    error: text('title and detail as one sentence.'),
    retryable: { type: 'boolean', description: 'The same request may succeed later.' },
    retry_after: {
      type: ['integer', 'null'],
      minimum: 0,
      description: 'Seconds; equals the Retry-After header.',
      'x-unit': 'seconds',
    },
    charged: {
      type: ['boolean', 'null'],
      description:
        'Whether the payment was taken; null while its outcome is unknown, and for callers who cannot show that the payment is theirs.',
    },
    payment_reusable: {
      type: 'boolean',
      description: 'The same signed payment can be sent again.',
    },
    docs: text('URL path of the words about this code.'),
    param: text('The parameter that does not hold.'),
    allowed: texts('What it may be.'),
    did_you_mean: texts('The nearest names, at most three.'),
    timeframe: text('The timeframe with too few candles.'),
    have: count('How many there are.'),
    need: count('How many are needed.'),
    check: text('What cannot be done now: ledger_writable, can_settle or clock.'),
    missing: text('What there is too little of for this analysis.'),
    ready_in_seconds: {
      type: ['integer', 'null'],
      minimum: 0,
      description: 'Seconds until there is enough; null where nobody knows.',
      'x-unit': 'seconds',
    },
    ready_at_iso: {
      type: ['string', 'null'],
      description: 'When there is enough, UTC, ISO 8601; null where nobody knows.',
    },
    transaction: text('The transaction whose outcome is open.'),
    reason: text('What payments of this wallet fail for again and again.'),
    field: text('What in them is wrong, where it is one field.'),
    quoted_grade: text('Grade that the payment echoes from its quote.'),
    quality_grade: text('Grade now.'),
    quoted_coverage: percent('Coverage that the payment echoes from its quote.'),
    coverage: percent('Coverage now.'),
    request_id: text('For questions about this request.'),
  },
  required: [
    ...['type', 'title', 'status', 'detail', 'instance', 'code', 'error', 'retryable'],
    ...['retry_after', 'charged', 'payment_reusable', 'docs', 'request_id'],
  ],
  additionalProperties: false,
}

/** Its members beside these are those of the protocol that is spoken. */
export const jsonRpcRequestSchema: JsonSchema = {
  type: 'object',
  description: 'JSON-RPC 2.0: a request, or without id a notification.',
  properties: {
    jsonrpc: { const: '2.0' },
    id: { type: ['string', 'integer'], description: 'Comes back with the response.' },
    method: text('Such as tools/call (MCP) or SendMessage (A2A).'),
    params: { type: 'object', description: 'Of the method.' },
  },
  required: ['jsonrpc', 'method'],
}

export const jsonRpcResponseSchema: JsonSchema = {
  type: 'object',
  description: 'JSON-RPC 2.0: a result or an error.',
  properties: {
    jsonrpc: { const: '2.0' },
    id: { type: ['string', 'number', 'null'], description: 'Of the request.' },
    result: { type: 'object', description: 'Of the method.' },
    error: {
      type: 'object',
      properties: {
        code: { type: 'integer', description: 'Of JSON-RPC, MCP or A2A.' },
        message: text('What is wrong.'),
      },
      required: ['code', 'message'],
    },
  },
  required: ['jsonrpc', 'id'],
  anyOf: [{ required: ['result'] }, { required: ['error'] }],
}

/** The body of a 402: x402 version 1. Version 2 is in the header. */
export const paymentRequiredSchema: JsonSchema = {
  type: 'object',
  description: 'Terms of payment, x402 version 1; the PAYMENT-REQUIRED header has version 2.',
  properties: {
    x402Version: { const: 1 },
    error: {
      type: 'string',
      enum: ['payment_required', 'payment_invalid'],
      description: 'payment_invalid: a payment came and was refused; diagnostics says why.',
    },
    accepts: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          scheme: text('How the payment works.'),
          network: text('Where it settles, by its name in version 1.'),
          maxAmountRequired: {
            type: 'string',
            pattern: '^[0-9]+$',
            description: 'The price in atomic units of the asset; USDC has six decimals.',
          },
          resource: text('The URL that is bought.'),
          description: text('What is bought.'),
          mimeType: text('Of the answer.'),
          payTo: text('Who is paid.'),
          maxTimeoutSeconds: {
            type: 'integer',
            description: 'A payment may be valid for so many seconds.',
            'x-unit': 'seconds',
          },
          asset: text('Address of the token.'),
          outputSchema: { type: 'object', description: 'How to call it.' },
          extra: { type: 'object', description: 'What a signature needs beyond that.' },
        },
        required: [
          ...['scheme', 'network', 'maxAmountRequired', 'resource', 'description', 'mimeType'],
          ...['payTo', 'maxTimeoutSeconds', 'asset'],
        ],
      },
    },
    diagnostics: {
      type: 'object',
      description: 'Why a payment was refused. Never the signature.',
      properties: {
        reason: text('An x402 error code.'),
        field: { type: ['string', 'null'], description: 'Path into the payment.' },
        expected: { type: ['string', 'null'] },
        received: { type: ['string', 'null'] },
        hint: text('How to repair it.'),
      },
      required: ['reason', 'field', 'expected', 'received', 'hint'],
    },
  },
  required: ['x402Version', 'error', 'accepts'],
}

const stateMembers = {
  state: text('up is the only healthy state of a feed, ok of the store.'),
  since_iso: { type: ['string', 'null'], description: 'UTC, ISO 8601.' },
}

const orNull = (of: 'string' | 'integer', description: string): JsonSchema => ({
  type: [of, 'null'],
  description,
})

const dexesRef: JsonSchema = { $ref: '#/components/schemas/Dexes' }

/** The same in /health and /coins. */
export const dexesSchema: JsonSchema = {
  type: 'array',
  description:
    'Builder-deployed dexes (HIP-3) that are known, followed or not, in the order of the venue. Empty where none is looked for; in /health also while there is no engine.',
  items: {
    type: 'object',
    properties: {
      name: text('What stands before the colon in its tickers.'),
      full_name: orNull('string', "The deployer's name of it; null where it was not received."),
      followed: {
        type: 'boolean',
        description: 'Its coins can be asked for once they are listed.',
      },
      reason: {
        anyOf: [{ type: 'string', enum: dexReasons }, { type: 'null' }],
        description:
          "Why it is not followed; null where it is. share_below_minimum: share_pct below the minimum. collateral_unpriced: no price of quote_unit in USD, so no share. no_live_coins: nothing trades there. subscription_budget: the venue's 1,000 websocket subscriptions for one address are used up. weight_budget: half of the planned REST weight is used up. listing_budget: the engine has no room for its list. no_reply: the venue did not answer for it. not_selected: not among the dexes that the operator named.",
      },
      share_pct: {
        anyOf: [{ type: 'number', minimum: 0, maximum: 100 }, { type: 'null' }],
        description:
          "The larger of its shares of the venue's open interest and of its 24 h volume, percent; null where it was not measured.",
        'x-unit': 'percent',
      },
      coins: orNull('integer', 'Number of its coins that trade; null where it was not received.'),
      coins_left_out: count('Coins of a followed dex for which no subscription was left.'),
      quote_unit: orNull('string', 'Its collateral token, which its prices are in; null: unknown.'),
      reference_price: {
        const: 'deployer_oracle',
        description: "Source of the oracle price: the deployer, not the venue's validators.",
      },
      session_hours: {
        type: 'null',
        description: 'Trading sessions of the underlying: the venue publishes none.',
      },
      judged_iso: orNull('string', 'When its share was measured last, UTC; null: it was not.'),
    },
    required: [
      ...['name', 'full_name', 'followed', 'reason', 'share_pct', 'coins', 'coins_left_out'],
      ...['quote_unit', 'reference_price', 'session_hours', 'judged_iso'],
    ],
    additionalProperties: false,
  },
}

export const healthSchema: JsonSchema = {
  type: 'object',
  properties: {
    status: {
      type: 'string',
      enum: ['ok', 'degraded'],
      description: 'degraded: no engine, maintenance, a feed that is down, or a check that fails.',
    },
    engine: { type: 'string', enum: ['available', 'unavailable'] },
    kill_switch: {
      type: 'string',
      enum: ['enabled', 'disabled'],
      description: 'disabled: maintenance, every paid path answers 503.',
    },
    version: text('Of the gateway.'),
    checks: {
      type: 'object',
      description:
        'What a sale needs beside its answer; while one is false nothing is quoted. Absent where the service does not check it.',
      properties: {
        ledger_writable: { type: 'boolean', description: 'Answers can be made durable.' },
        can_settle: { type: 'boolean', description: 'One of the ways to pay can settle.' },
        clock: {
          type: 'boolean',
          description: 'The clock is within 60 s of the venue or of a chain.',
        },
      },
      additionalProperties: false,
    },
    feeds: {
      type: 'array',
      items: {
        type: 'object',
        properties: { feed: text('Its name.'), ...stateMembers, reason: text('Why.') },
        required: ['feed', 'state', 'since_iso', 'reason'],
      },
    },
    dexes: dexesRef,
    store: {
      anyOf: [
        {
          type: 'object',
          properties: {
            ...stateMembers,
            dropped_rows: count('Rows that never reached the disk.'),
            damaged_blocks: count('Blocks that were found damaged.'),
            set_aside_files: count('Files that could not be read any more; history began anew.'),
          },
          required: ['state', 'since_iso', 'dropped_rows', 'damaged_blocks', 'set_aside_files'],
        },
        { type: 'null' },
      ],
      description: 'The history on disk; null while there is no engine.',
    },
    uptime_seconds: { type: 'integer', minimum: 0, 'x-unit': 'seconds' },
    since_iso: instant,
  },
  required: [
    ...['status', 'engine', 'kill_switch', 'version', 'feeds', 'dexes', 'store'],
    ...['uptime_seconds', 'since_iso'],
  ],
  additionalProperties: false,
}

export const coinsSchema: JsonSchema = {
  type: 'object',
  properties: {
    coins: texts('Tickers that can be asked for now, as the venue spells them.'),
    count: count('Number of them.'),
    dexes: dexesRef,
    timestamp_iso: instant,
  },
  required: ['coins', 'count', 'dexes', 'timestamp_iso'],
  additionalProperties: false,
}

export const pricesSchema: JsonSchema = {
  type: 'object',
  properties: {
    currency: { const: 'USDC' },
    free: { type: 'boolean', description: 'true: this service gives its answers away.' },
    prices: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          analysis: text('Its id.'),
          path: text('With {coin} or {token} where it is about one.'),
          title: text('What it is.'),
          price_usdc: text('A call, a decimal number.'),
          amount_atomic: text('The same in millionths of a USDC.'),
          available: {
            type: 'boolean',
            description: 'false: it is known that no answer can be given at present.',
          },
        },
        required: ['analysis', 'path', 'title', 'price_usdc', 'amount_atomic', 'available'],
        additionalProperties: false,
      },
    },
    ways_to_pay: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          scheme: text('x402 scheme.'),
          network: text('CAIP-2.'),
          asset: text('Address of the token.'),
          pay_to: text('Who is paid.'),
        },
        required: ['scheme', 'network', 'asset', 'pay_to'],
        additionalProperties: false,
      },
    },
    limits: {
      type: 'object',
      description:
        'Calls above these are 429, and a payment that came along stays good. Absent where free.',
      properties: {
        sales_per_wallet_per_minute: count('Answers that one wallet can buy in a minute.'),
        quotes_per_address_per_minute: count(
          'Calls without a payment that one address can make in a minute.',
        ),
      },
      required: ['sales_per_wallet_per_minute', 'quotes_per_address_per_minute'],
      additionalProperties: false,
    },
  },
  required: ['currency', 'free', 'prices', 'ways_to_pay'],
  additionalProperties: false,
}

export const indexSchema: JsonSchema = {
  type: 'object',
  properties: {
    service: text('Its name.'),
    version: text('Of the gateway.'),
    free: texts('Paths that cost nothing.'),
    agents: texts('Paths by which agents call all of them: MCP and A2A.'),
    paid: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          path: text('With {coin} or {token} where it is about one.'),
          summary: text('What it is.'),
          price_usdc: text('A call, a decimal number.'),
        },
        required: ['path', 'summary', 'price_usdc'],
      },
    },
  },
  required: ['service', 'version', 'free', 'agents', 'paid'],
  additionalProperties: false,
}
