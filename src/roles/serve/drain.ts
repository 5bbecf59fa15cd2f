import type { Clock } from '../../domain/clock.ts'
import type { InFlightPayments } from '../../payment/in-flight-payments.ts'
import type { CheckedSales } from '../../payment/sales-readiness.ts'
import { monotonicMs, systemClock } from '../system-clock.ts'

/** For calls in progress. The rest of the grace period is for the last checkpoint of the engine. */
export const DRAIN_MS_MAX = 10_000
const POLL_MS = 20

/** The end of a process: from its begin nothing is quoted or sold, and calls in progress are finished. */
export class Drain {
  readonly #clock: Clock
  #sinceMs: number | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  begin(): void {
    this.#sinceMs ??= this.#clock.nowMs()
  }

  get check(): CheckedSales {
    const reason = 'draining: the process ends after its calls in progress'
    return {
      check: 'accepts_sales',
      fault: this.#sinceMs === null ? null : { reason, sinceMs: this.#sinceMs },
    }
  }
}

/** Keeps the port open until the paid calls are answered, so that other callers get a refusal with Retry-After. */
export function paidCalls(payments: Pick<InFlightPayments, 'size'>) {
  return {
    async handOver() {
      const deadlineMs = monotonicMs() + DRAIN_MS_MAX
      while (payments.size > 0 && monotonicMs() < deadlineMs)
        await new Promise<void>((resolve) => systemClock.after(POLL_MS, resolve))
    },
    stop: () => undefined,
  }
}
