import type { ProblemCode } from './answers.ts'

/** Error body of the service: RFC 9457 with the members of perpscope. */
export type ProblemBody = {
  readonly code: ProblemCode
  readonly status: number
  readonly title: string
  readonly detail: string
  readonly retryable: boolean
  readonly retry_after: number | null
  /** null while the outcome of the settlement is unknown, or while a limit prevents the look-up of a used payment. */
  readonly charged: boolean | null
  readonly payment_reusable: boolean
  readonly param?: string
  readonly allowed?: readonly string[]
  readonly did_you_mean?: readonly string[]
  readonly request_id: string
}

/** The service refused the call. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError'
  readonly problem: ProblemBody

  constructor(problem: ProblemBody) {
    super(`${problem.code}: ${problem.detail}`)
    this.problem = problem
  }
}

/** Why a payment was refused, from the 402. */
export type Diagnostics = {
  readonly reason: string
  readonly field: string | null
  readonly expected: string | null
  readonly received: string | null
  readonly hint: string
  /** null if an earlier request may have charged the payment. Absent from older services. */
  readonly charged?: false | null
}

/**
 * The payment was refused and, by the service's report, not charged. It counts against the budget until it cannot be
 * settled any more. The next call signs another one. The client throws `UnansweredError` if it may have been charged.
 */
export class PaymentRefusedError extends Error {
  override readonly name = 'PaymentRefusedError'
  readonly diagnostics: Diagnostics

  constructor(diagnostics: Diagnostics) {
    super(`${diagnostics.reason}: ${diagnostics.hint}`)
    this.diagnostics = diagnostics
  }
}

/** A proxy or another intermediary answered instead of the service. */
export class IntermediaryError extends Error {
  override readonly name = 'IntermediaryError'
  readonly status: number

  constructor(status: number) {
    super(`status ${status} from an intermediary, not from the service`)
    this.status = status
  }
}

/** The call exceeds the budget or cannot be paid safely. Nothing was sent, so nothing can be charged. */
export class UnpayableError extends Error {
  override readonly name = 'UnpayableError'
}

/**
 * A payment was sent and no answer arrived, or it was refused although an earlier request may have charged it (`cause`).
 * Send it again with `resume`; the next call for the same URL does so, too, until `discard`, or until it is refused after
 * its validity has ended.
 */
export class UnansweredError extends Error {
  override readonly name = 'UnansweredError'
  readonly payment: PendingPayment

  constructor(payment: PendingPayment, cause: unknown) {
    super(
      `no answer arrived for ${payment.url}, and its payment may have been charged. ` +
        'Call resume(error.payment) instead of paying again.',
      { cause },
    )
    this.payment = payment
  }
}

/** A sent payment, for `resume`. */
export type PendingPayment = { readonly url: string; readonly header: string }
