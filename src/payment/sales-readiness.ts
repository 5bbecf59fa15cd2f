import type { ClockCheck } from './clock-check.ts'
import type { HealthFault, HealthMonitor } from './health-monitor.ts'
import type { PaymentMethod } from './payment.ts'
import type { PaymentEvent } from './payment-event.ts'

/** Requirements of a sale apart from its answer. */
export type SalesCheck =
  | 'accepts_sales'
  | 'ledger_writable'
  | 'can_settle'
  | 'clock'
  | 'engine_agrees'
  | 'engine_clock'

export type CheckedSales = { readonly check: SalesCheck; readonly fault: HealthFault | null }

export type SalesReadinessOptions = {
  readonly methods: readonly PaymentMethod[]
  /** Of the ledger. */
  readonly ledger: HealthMonitor
  readonly clock: ClockCheck
  /** Of the process, and of an engine in another one. */
  readonly others?: () => readonly CheckedSales[]
}

/** Whether a quote can be honoured: the ledger is writable, a payment method can settle and the clock is right. */
export class SalesReadiness {
  readonly #options: SalesReadinessOptions

  constructor(options: SalesReadinessOptions) {
    this.#options = options
  }

  /** In the order of refusals. Reads known state and does not wait. */
  checks(): readonly CheckedSales[] {
    const { ledger, methods, clock, others } = this.#options
    return [
      { check: 'ledger_writable', fault: ledger.fault },
      { check: 'can_settle', fault: settlementFault(methods) },
      { check: 'clock', fault: clock.fault },
      ...(others?.() ?? []),
    ]
  }

  /**
   * @param isPaid a signed payment is attempted whatever the last settlements showed
   * @returns why nothing can be sold now, or null
   */
  hindrance({ isPaid }: { readonly isPaid: boolean }): CheckedSales | null {
    const checks = this.checks().filter(({ check }) => !(isPaid && check === 'can_settle'))
    return checks.find(({ fault }) => fault !== null) ?? null
  }

  /** Passes results of payments to the ledger monitor. */
  record({ kind }: PaymentEvent): void {
    const { ledger } = this.#options
    if (kind === 'settled' || kind === 'trusted') ledger.reportSuccess()
    else if (kind === 'failed') ledger.reportFailure()
  }
}

/** null while one payment method can settle. */
function settlementFault(methods: readonly PaymentMethod[]): HealthFault | null {
  const faults = methods
    .filter(({ isSuspended }) => isSuspended !== true)
    .map(({ network, readiness }) => ({ network, fault: readiness?.() ?? null }))
  const reasons = faults.flatMap(({ network, fault }) =>
    fault === null ? [] : [`${network}: ${fault.reason}`],
  )
  if (reasons.length < faults.length || reasons.length === 0) return null
  return {
    reason: [...new Set(reasons)].join('; '),
    sinceMs: Math.max(...faults.map(({ fault }) => fault?.sinceMs ?? 0)),
  }
}
