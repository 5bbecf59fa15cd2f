import type { ProblemCode } from '../../domain/problem.ts'
import { problem, problemCodes } from '../../domain/problem.ts'
import {
  closedObject,
  countSchema,
  flagSchema,
  nullableSchema,
  nullableSecondsSchema,
  percentSchema,
  textSchema,
  textsSchema,
} from './described-schema.ts'
import { errorGuide } from './error-guide.ts'
import type { JsonSchema } from './published-schema.ts'

/** The body of an error with this code, composed as the service composes it. */
export function problemExample(code: ProblemCode, instance: string): unknown {
  const { body } = problem(code, errorGuide[code].example, { instance, requestId: 'm3x9k2-1f' })
  return JSON.parse(body)
}

const statuses = [...new Set(problemCodes.map(({ status }) => status))].sort()

const codesByStatus = statuses
  .map((status) => {
    const rows = problemCodes.filter((row) => row.status === status)
    return `${status}: ${rows.map(({ code }) => code).join(', ')}`
  })
  .join('; ')

const required = {
  type: textSchema('URL path of the description of this code.'),
  title: textSchema('Title of the code.'),
  status: { type: 'integer', enum: statuses },
  detail: textSchema('Cause, whether anything was charged, and what to do.'),
  instance: textSchema('Path of the request.'),
  code: {
    type: 'string',
    enum: problemCodes.map(({ code }) => code),
    description: `Stable. ${codesByStatus}.`,
  },
  error: textSchema('title and detail in one line.'),
  retryable: flagSchema('The same request may succeed later.'),
  retry_after: nullableSecondsSchema('Seconds; equals the Retry-After header.'),
  charged: nullableSchema(
    'boolean',
    'Whether the payment was taken; null if unknown, if the payment was not looked up, or for callers that cannot prove it is theirs.',
  ),
  payment_reusable: flagSchema('The same signed payment can be sent again.'),
  docs: textSchema('Equals type.'),
  request_id: textSchema('Quote it in support requests.'),
} as const satisfies Readonly<Record<string, JsonSchema>>

const optional = {
  param: textSchema('The invalid parameter.'),
  allowed: textsSchema('Valid values.'),
  did_you_mean: textsSchema('Up to three similar names.'),
  timeframe: textSchema('Timeframe with too few candles.'),
  have: countSchema('Available items.'),
  need: countSchema('Required items.'),
  check: textSchema(
    'Failed check: ledger_writable, can_settle, clock, accepts_sales, engine_agrees or engine_clock.',
  ),
  missing: textSchema('Kind of the counted items.'),
  ready_in_seconds: nullableSecondsSchema('Seconds until the minimum is reached; null if unknown.'),
  ready_at_iso: nullableSchema('string', 'Instant of the minimum, UTC, ISO 8601; null if unknown.'),
  transaction: textSchema('Transaction with unknown outcome.'),
  reason: textSchema('x402 reason for which payments of this wallet keep failing.'),
  field: textSchema('Invalid field of these payments.'),
  quoted_grade: textSchema('Grade in the quote.'),
  quality_grade: textSchema('Present grade.'),
  quoted_coverage: percentSchema('Coverage in the quote.'),
  coverage: percentSchema('Present coverage.'),
} as const satisfies Readonly<Record<string, JsonSchema>>

/** RFC 9457 with the extension members of this service. */
export const problemSchema = closedObject(
  { ...required, ...optional },
  { description: 'RFC 9457. /docs/errors describes each code.', optional: Object.keys(optional) },
)
