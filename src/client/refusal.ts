import type { Diagnostics, ProblemBody } from './errors.ts'
import { PaymentRefusedError, RefusedError } from './errors.ts'

/** The error in a response body; null if the body is not from the service. */
export function readRefusal(body: unknown): RefusedError | PaymentRefusedError | null {
  if (typeof body !== 'object' || body === null) return null
  // Only the quote after a refused payment has diagnostics.
  if ('diagnostics' in body) return new PaymentRefusedError(body.diagnostics as Diagnostics)
  const isProblem = 'code' in body && typeof body.code === 'string' && 'charged' in body
  return isProblem ? new RefusedError(body as ProblemBody) : null
}

/** By the service's report; false for an unknown outcome. */
export function isUncharged(cause: unknown): boolean {
  if (cause instanceof PaymentRefusedError) return cause.diagnostics.charged !== null
  return cause instanceof RefusedError && cause.problem.charged === false
}

/** By the service's report; false for an unknown outcome. */
export function isCharged(cause: unknown): boolean {
  return cause instanceof RefusedError && cause.problem.charged === true
}

/** Sending the payment again is useless. */
export function isOver(cause: unknown): boolean {
  if (cause instanceof PaymentRefusedError) return isUncharged(cause)
  return cause instanceof RefusedError && !cause.problem.payment_reusable
}
