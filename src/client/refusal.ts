import type { Diagnostics, ProblemBody } from './errors.ts'
import { PaymentRefusedError, RefusedError } from './errors.ts'

/** What the service says in place of an answer; null where it is not the service that speaks. */
export function refusalIn(body: unknown): RefusedError | PaymentRefusedError | null {
  if (typeof body !== 'object' || body === null) return null
  // Only the quote for a payment that was seen, and refused, has them.
  if ('diagnostics' in body) return new PaymentRefusedError(body.diagnostics as Diagnostics)
  const isProblem = 'code' in body && typeof body.code === 'string' && 'charged' in body
  return isProblem ? new RefusedError(body as ProblemBody) : null
}

/** The service says so; what it says of an open outcome is null. */
export function isUncharged(cause: unknown): boolean {
  if (cause instanceof PaymentRefusedError) return true
  return cause instanceof RefusedError && cause.problem.charged === false
}

/** The same. */
export function isCharged(cause: unknown): boolean {
  return cause instanceof RefusedError && cause.problem.charged === true
}

/** Nothing will come of sending that payment again. */
export function isOver(cause: unknown): boolean {
  if (cause instanceof PaymentRefusedError) return true
  return cause instanceof RefusedError && !cause.problem.payment_reusable
}
