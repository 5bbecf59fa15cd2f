import { PaymentRefusedError, RefusedError } from './errors.ts'
import { platform } from './platform.ts'

const ATTEMPTS_MAX = 6
const WAIT_MS = 500
const WAIT_MS_MAX = 10_000

type Wait = (ms: number) => Promise<void>

/**
 * Sends one payment until its outcome is known.
 * @param send throws the service's refusal (`readRefusal`); after any other error the payment may have arrived
 * @throws the error of the last attempt
 */
export function sendUntilSettled<Answer>(
  send: () => Promise<Answer>,
  wait?: Wait,
): Promise<Answer> {
  const isOpen = (cause: unknown) =>
    cause instanceof RefusedError
      ? cause.problem.payment_reusable
      : !(cause instanceof PaymentRefusedError)
  return retry(send, isOpen, wait)
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
