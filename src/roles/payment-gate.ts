import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { MAINTENANCE_RETRY_SECONDS } from '../api/analysis-refusals.ts'
import type { PaymentGate } from '../api/analysis-routes.ts'
import type { MaintenanceState } from '../api/maintenance-switch.ts'
import { contracts } from '../compute/analyses/registry.ts'
import type { SalesSettings } from '../config/payment.ts'
import type { OfferReceipts } from '../payment/extensions/offer-receipt.ts'
import { finalityOf } from '../payment/finality.ts'
import type { InFlightPayments } from '../payment/in-flight-payments.ts'
import type { Ledger } from '../payment/ledger/ledger.ts'
import type { PaymentMethod } from '../payment/payment.ts'
import type { PaymentEvent } from '../payment/payment-event.ts'
import { payments } from '../payment/plugin.ts'
import type { RateLimits } from '../payment/rate-limit.ts'
import type { SalesReadiness } from '../payment/sales-readiness.ts'
import { observePayments } from './payment-metrics.ts'
import { quoteSecrets } from './quote-secrets.ts'
import { systemClock } from './system-clock.ts'

type Parts = {
  readonly publicUrl: string
  readonly methods: readonly PaymentMethod[]
  readonly ledger: Ledger
  readonly inFlightPayments: InFlightPayments
  readonly receipts: OfferReceipts | null
  readonly maintenance: MaintenanceState
  readonly log: Logger
  readonly metrics: Registry
  readonly sales: SalesReadiness | null
  readonly isClockOff: () => boolean
  readonly rateLimits: RateLimits
  /** Receives every event, as the metrics do. */
  readonly onPayment: (event: PaymentEvent) => void
  readonly onSold: (body: Uint8Array) => void
}

/** Registers the payment plugin at the gateway. */
export function paymentGate(options: SalesSettings, parts: Parts): PaymentGate {
  const { publicUrl, methods, ledger, receipts, maintenance, log, metrics, sales } = parts
  const { inFlightPayments } = parts
  const observe = observePayments(metrics, {
    ...{ ledger, inFlightPayments, clock: systemClock, exposureMax: options.broadcastTotalMax },
    analyses: contracts.map(({ id }) => id),
    networks: [...new Set(methods.map(({ network }) => network))],
  })
  return async (app) => {
    await app.register(payments, {
      methods,
      ledger,
      inFlightPayments,
      rateLimits: parts.rateLimits,
      limits: { paidCallsPerWalletPerMinute: options.salesPerWalletPerMinute },
      finality: (amount) => finalityOf(options.finality, amount),
      exposure: { payerMax: options.broadcastPayerMax, totalMax: options.broadcastTotalMax },
      isClockOff: parts.isClockOff,
      ...(receipts && { receipts }),
      clock: systemClock,
      publicUrl,
      newSecret: quoteSecrets(),
      closure: {
        isClosed: () => maintenance.isOn,
        retryAfterSeconds: MAINTENANCE_RETRY_SECONDS,
      },
      onSold: parts.onSold,
      onEvent: (event) => {
        observe(event)
        parts.onPayment(event)
        sales?.record(event)
        logPayment(log, event)
      },
    })
  }
}

/** Other events state what followed these. */
const UNLOGGED: ReadonlySet<PaymentEvent['kind']> = new Set([
  ...(['quoted', 'presented', 'verified', 'attempted'] as const),
])

function logPayment(
  log: Logger,
  { cause, amount: _amount, isAnswered: _isAnswered, ...event }: PaymentEvent,
): void {
  if (event.kind === 'failed') log.error({ ...event, err: cause }, 'payment')
  else if (event.kind === 'lost') log.error(event, 'payment')
  else if (!UNLOGGED.has(event.kind)) log.info(event, 'payment')
}
