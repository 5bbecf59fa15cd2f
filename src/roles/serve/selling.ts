import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { PaymentGate } from '../../api/analysis-routes.ts'
import type { MaintenanceState } from '../../api/maintenance-switch.ts'
import type { PaymentSettings } from '../../config/payment.ts'
import type { ServeOptions } from '../../config/serve.ts'
import type { SteadyClock } from '../../domain/steady-clock.ts'
import type { EngineReader } from '../../link/engine-replica.ts'
import type { Channel } from '../../payment/channels/channel-store.ts'
import type { ClockCheck } from '../../payment/clock-check.ts'
import type { ProofAnchor } from '../../payment/evm/proof-anchor.ts'
import { OfferReceipts } from '../../payment/extensions/offer-receipt.ts'
import type { HealthFault, HealthMonitor } from '../../payment/health-monitor.ts'
import { InFlightPayments } from '../../payment/in-flight-payments.ts'
import type { PaymentMethod } from '../../payment/payment.ts'
import type { PaymentEvent } from '../../payment/payment-event.ts'
import type { RateLimits } from '../../payment/rate-limit.ts'
import { localRateLimits } from '../../payment/rate-limit.ts'
import type { CheckedSales, SalesReadiness } from '../../payment/sales-readiness.ts'
import {
  examineFacilitators,
  hostedFacilitators,
  measureFacilitators,
} from '../hosted-facilitators.ts'
import { paymentChannels } from '../payment-channels.ts'
import { paymentGate } from '../payment-gate.ts'
import { paymentMethods } from '../payment-methods.ts'
import { clockCheckOf, measureReadiness, salesReadiness, watchOf } from '../sales-readiness.ts'
import { systemClock } from '../system-clock.ts'
import type { Drain } from './drain.ts'
import { paidCalls } from './drain.ts'
import type { OpenLedger } from './open-ledger.ts'
import { publicUrlOf } from './public-url.ts'
import type { ServicePart } from './running-service.ts'

/** How answers are sold, or that they are free. */
export type Selling = {
  /** null if answers are free. */
  readonly gate: PaymentGate | null
  readonly sales: SalesReadiness | null
  readonly methods: readonly PaymentMethod[]
  readonly receipts: OfferReceipts | null
  readonly clockCheck: ClockCheck
  readonly rateLimits: RateLimits
  /** null if payment channels are off. */
  readonly channels: (() => Promise<readonly Channel[]>) | null
  /** Without payment the clock alone. */
  checks(): readonly { readonly check: string; readonly fault: HealthFault | null }[]
}

type Context = {
  readonly engine: EngineReader
  readonly maintenance: MaintenanceState
  readonly clock: SteadyClock
  readonly metrics: Registry
  /** Of an engine in another process. */
  readonly engineChecks?: () => readonly CheckedSales[]
  /** Of this process alone by default. */
  readonly rateLimits?: RateLimits
  readonly onPayment: (event: PaymentEvent) => void
  /** Absent where nothing is sold. */
  readonly onSold?: (body: Uint8Array) => void
  readonly log: Logger
  readonly drain: Drain
}

/**
 * Opens everything that sells answers.
 * @param books null if answers are free
 * @param opened gets what it opens, in the order of its end
 * @throws ConfigError when what is configured can never take a payment
 */
export async function openSelling(
  books: OpenLedger | null,
  options: ServeOptions,
  context: Context,
  opened: ServicePart[],
): Promise<Selling> {
  const { engine, maintenance, metrics, log, onPayment } = context
  const {
    rateLimits = localRateLimits,
    engineChecks = () => [],
    onSold = () => undefined,
    drain,
  } = context
  const others = () => [drain.check, ...engineChecks()]
  const clockCheck = clockCheckOf(engine, context.clock)
  const hosted = options.payment === 'open' ? null : hostedFacilitators(options, log)
  const watches: HealthMonitor[] = []
  const anchors: ProofAnchor[] = []
  const { methods: exact, evmFacilitator } =
    books === null
      ? { methods: [], evmFacilitator: null }
      : await paymentMethods(options, log, hosted, metrics, {
          clock: clockCheck,
          watches,
          failures: books.failures,
          turnsOf: books.turnsOf,
          recordCost: books.recordCost,
          anchoring: { proofs: books.proofs, anchors },
        })
  const channels = await paymentChannels(options, log, metrics, books, evmFacilitator)
  if (channels !== null) opened.unshift(channels)
  // Channels use the node and the gas account of the first method.
  const readiness = exact[0]?.readiness
  const methods = [
    ...exact,
    ...(channels === null ? [] : [{ ...channels.method, ...(readiness && { readiness }) }]),
  ]
  if (hosted !== null) await examineFacilitators(hosted)
  if (hosted !== null) measureFacilitators(hosted, metrics)
  const { sales, ...ledgerWatch } = salesReadiness(
    methods,
    books?.ledger ?? null,
    clockCheck,
    others,
    log,
  )
  const checks = () => sales?.checks() ?? [{ check: 'clock', fault: clockCheck.fault }, ...others()]
  measureReadiness({ checks, methods, clock: clockCheck }, metrics)
  const receipts = receiptsOf(options)
  if (receipts !== null) log.info({ signer: receipts.signer }, 'offers and receipts are signed')
  const publicUrl = publicUrlOf(options)
  const inFlightPayments = new InFlightPayments()
  const gate =
    books === null
      ? null
      : paymentGate(options, {
          ...{
            publicUrl,
            methods,
            ledger: books.ledger,
            inFlightPayments,
            receipts,
            maintenance,
            log,
            metrics,
            sales,
            isClockOff: () => clockCheck.fault !== null,
            rateLimits,
            onPayment,
            onSold,
          },
        })
  // Sales stop by the check itself; this is its line of log.
  const clockWatch = watchOf('the clock', () => clockCheck.fault?.reason ?? null, log)
  opened.unshift(ledgerWatch, clockWatch, ...watches, ...anchors, paidCalls(inFlightPayments))
  if (hosted !== null) opened.unshift(hosted)
  return {
    ...{ gate, sales, methods, receipts, clockCheck, checks, rateLimits },
    channels: channels && (() => channels.channels()),
  }
}

function receiptsOf({ payment, receiptKey: key }: PaymentSettings): OfferReceipts | null {
  if (payment === 'open' || key === undefined) return null
  return new OfferReceipts({ key, clock: systemClock })
}
