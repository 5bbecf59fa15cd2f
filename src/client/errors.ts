import type { ProblemCode } from './answers.ts'

/** What the service says when it refuses: RFC 9457 with the members of perpscope. */
export type ProblemBody = {
  readonly code: ProblemCode
  readonly status: number
  readonly title: string
  readonly detail: string
  readonly retryable: boolean
  readonly retry_after: number | null
  /** null while the outcome of a settlement is unknown. */
  readonly charged: boolean | null
  readonly payment_reusable: boolean
  readonly param?: string
  readonly allowed?: readonly string[]
  readonly did_you_mean?: readonly string[]
  readonly request_id: string
}

/** The service has refused the call. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError'
  readonly problem: ProblemBody

  constructor(problem: ProblemBody) {
    super(`${problem.code}: ${problem.detail}`)
    this.problem = problem
  }
}

/** Why a payment was not accepted, as the 402 tells it. */
export type Diagnostics = {
  readonly reason: string
  readonly field: string | null
  readonly expected: string | null
  readonly received: string | null
  readonly hint: string
}

/**
 * The payment was refused; the service says that nothing was charged. It counts against the budget until it cannot be
 * charged any more. It is not signed again: that is for the caller to decide.
 */
export class PaymentRefusedError extends Error {
  override readonly name = 'PaymentRefusedError'
  readonly diagnostics: Diagnostics

  constructor(diagnostics: Diagnostics) {
    super(`${diagnostics.reason}: ${diagnostics.hint}`)
    this.diagnostics = diagnostics
  }
}

/** Something on the way, such as a proxy, answered in the place of the service. */
export class IntermediaryError extends Error {
  override readonly name = 'IntermediaryError'
  readonly status: number

  constructor(status: number) {
    super(`status ${status}, and not from the service`)
    this.status = status
  }
}

/** Nothing was sent, so nothing can be charged: what is asked is more than may be spent, or cannot be paid safely. */
export class UnpayableError extends Error {
  override readonly name = 'UnpayableError'
}

/** A signed payment is out and its answer did not come. `payment` is kept: send it again with `resume`. */
export class UnansweredError extends Error {
  override readonly name = 'UnansweredError'
  readonly payment: PendingPayment

  constructor(payment: PendingPayment, cause: unknown) {
    super(
      `no answer came for a payment that may have been charged, for ${payment.url}: ` +
        'send it again with resume(error.payment) instead of paying twice',
      { cause },
    )
    this.payment = payment
  }
}

/** All that is needed to fetch what a payment has bought. */
export type PendingPayment = { readonly url: string; readonly header: string }
