import type { ProblemCode } from '../../domain/problem.ts'
import { problem, problemCodes } from '../../domain/problem.ts'
import {
  closedObject,
  count,
  flag,
  orNull,
  percent,
  secondsOrNull,
  text,
  texts,
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
  type: text('URL path of the description of this code.'),
  title: text('Title of the code.'),
  status: { type: 'integer', enum: statuses },
  detail: text('Cause, whether anything was charged, and what to do.'),
  instance: text('Path of the request.'),
  code: {
    type: 'string',
    enum: problemCodes.map(({ code }) => code),
    description: `Stable. ${codesByStatus}.`,
  },
  error: text('title and detail in one line.'),
  retryable: flag('The same request may succeed later.'),
  retry_after: secondsOrNull('Seconds; equals the Retry-After header.'),
  charged: orNull(
    'boolean',
    'Whether the payment was taken; null while its outcome is unknown, and for callers that cannot prove that the payment is theirs.',
  ),
  payment_reusable: flag('The same signed payment can be sent again.'),
  docs: text('Equals type.'),
  request_id: text('Quote it in support requests.'),
} as const satisfies Readonly<Record<string, JsonSchema>>

const optional = {
  param: text('The invalid parameter.'),
  allowed: texts('Valid values.'),
  did_you_mean: texts('Up to three similar names.'),
  timeframe: text('Timeframe with too few candles.'),
  have: count('Available items.'),
  need: count('Required items.'),
  check: text('Failed check: ledger_writable, can_settle or clock.'),
  missing: text('Kind of the counted items.'),
  ready_in_seconds: secondsOrNull('Seconds until the minimum is reached; null if unknown.'),
  ready_at_iso: orNull('string', 'Instant of the minimum, UTC, ISO 8601; null if unknown.'),
  transaction: text('Transaction with unknown outcome.'),
  reason: text('x402 reason for which payments of this wallet keep failing.'),
  field: text('Invalid field of these payments.'),
  quoted_grade: text('Grade in the quote.'),
  quality_grade: text('Present grade.'),
  quoted_coverage: percent('Coverage in the quote.'),
  coverage: percent('Present coverage.'),
} as const satisfies Readonly<Record<string, JsonSchema>>

/** RFC 9457 with the extension members of this service. */
export const problemSchema = closedObject(
  { ...required, ...optional },
  { description: 'RFC 9457. /docs/errors describes each code.', optional: Object.keys(optional) },
)
