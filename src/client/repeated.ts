import { PaymentRefusedError, RefusedError } from './errors.ts'
import { platform } from './platform.ts'

/** A call is made so often before the caller is told that there is no answer. */
const ATTEMPTS_MAX = 6
const WAIT_MS = 500
const WAIT_MS_MAX = 10_000

type Wait = (ms: number) => Promise<void>

/**
 * Sends one payment until it is clear what has become of it. Never another one.
 *
 * @param send throws what the service says in place of an answer (`refusalIn`); after anything else that it
 * throws, what was sent may have arrived
 * @throws whatever the last attempt threw
 */
export function sentUntilClear<Answer>(send: () => Promise<Answer>, wait?: Wait): Promise<Answer> {
  const isOpen = (cause: unknown) =>
    cause instanceof RefusedError
      ? cause.problem.payment_reusable
      : !(cause instanceof PaymentRefusedError)
  return repeated(send, isOpen, wait)
}

/** Calls again while what it throws may pass, after as long as it is told to or else longer each time. */
export async function repeated<Answer>(
  call: () => Promise<Answer>,
  mayPass: (cause: unknown) => boolean,
  wait: Wait = platform.wait,
): Promise<Answer> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call()
    } catch (cause) {
      if (attempt === ATTEMPTS_MAX || !mayPass(cause)) throw cause
      const told = cause instanceof RefusedError ? cause.problem.retry_after : null
      const waitMs = told === null ? WAIT_MS * 2 ** (attempt - 1) : told * 1_000
      await wait(Math.min(waitMs, WAIT_MS_MAX))
    }
  }
}
