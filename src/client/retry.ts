import type { ProblemCode } from './answers.ts'
import { PaymentRefusedError, RefusedError } from './errors.ts'
import { platform } from './platform.ts'
import { isUncharged } from './refusal.ts'

const ATTEMPTS_MAX = 6
const WAIT_MS = 500
const WAIT_MS_MAX = 10_000

/** The service may send them without looking the payment up, so `charged` is about that request alone. */
const withoutLookUp: ReadonlySet<ProblemCode> = new Set([
  'rate_limited',
  'ledger_busy',
  'internal_error',
])

type Wait = (ms: number) => Promise<void>

/**
 * Sends one payment until its outcome is known.
 * @param send throws the service's refusal (`readRefusal`); after any other error the payment may have arrived
 * @param mayBeCharged whether an earlier request may have charged it
 * @throws the error of the last attempt; `charged` is null if an earlier attempt may have charged the payment
 */
export function sendUntilSettled<Answer>(
  send: () => Promise<Answer>,
  wait?: Wait,
  mayBeCharged = false,
): Promise<Answer> {
  let isOpen = mayBeCharged
  const sent = async () => {
    try {
      return await send()
    } catch (cause) {
      const reported = isOpen ? aboutPayment(cause) : cause
      isOpen = !isUncharged(reported)
      throw reported
    }
  }
  const isRepeated = (cause: unknown) =>
    cause instanceof RefusedError
      ? cause.problem.payment_reusable
      : !(cause instanceof PaymentRefusedError)
  return retry(sent, isRepeated, wait)
}

/** A refusal as it applies to a payment that an earlier request may have charged. */
function aboutPayment(cause: unknown): unknown {
  if (!(cause instanceof RefusedError)) return cause
  const { problem } = cause
  return problem.charged === false && withoutLookUp.has(problem.code)
    ? new RefusedError({ ...problem, charged: null, payment_reusable: true })
    : cause
}

/** Retries temporary errors, after `retry_after` or with exponential back-off. */
export async function retry<Answer>(
  call: () => Promise<Answer>,
  isTemporary: (cause: unknown) => boolean,
  wait: Wait = platform.wait,
): Promise<Answer> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call()
    } catch (cause) {
      const seconds = cause instanceof RefusedError ? cause.problem.retry_after : null
      const waitMs = seconds === null ? WAIT_MS * 2 ** (attempt - 1) : seconds * 1_000
      // Asking before `retry_after` would be refused again.
      const isTooLong = seconds !== null && waitMs > WAIT_MS_MAX
      if (attempt === ATTEMPTS_MAX || !isTemporary(cause) || isTooLong) throw cause
      await wait(Math.min(waitMs, WAIT_MS_MAX))
    }
  }
}
