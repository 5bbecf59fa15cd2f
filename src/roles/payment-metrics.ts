import type { Registry } from 'prom-client'
import { Counter, Gauge, Histogram } from 'prom-client'
import type { InFlightPayments } from '../payment/in-flight-payments.ts'
import type { Ledger } from '../payment/ledger/ledger.ts'
import type { PaymentEvent } from '../payment/payment-event.ts'

/** A verification takes a signature check and a node request; a settlement takes a block. */
const SECONDS = [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Registers the payment metrics. @returns the receiver of payment events */
export function observePayments(
  metrics: Registry,
  {
    ledger,
    inFlightPayments,
  }: { readonly ledger: Ledger; readonly inFlightPayments: InFlightPayments },
): (event: PaymentEvent) => void {
  const registers = [metrics]
  const events = new Counter({
    name: 'perpscope_payment_events_total',
    help: 'Events of quotes and payments.',
    labelNames: ['kind', 'route'],
    registers,
  })
  const verification = new Histogram({
    name: 'perpscope_payment_verify_seconds',
    help: 'Duration of successful verifications.',
    buckets: SECONDS,
    registers,
  })
  const settlement = new Histogram({
    name: 'perpscope_payment_settle_seconds',
    help: 'Time from the start of a settlement until its answer is sent.',
    buckets: SECONDS,
    registers,
  })
  new Gauge({
    name: 'perpscope_payments',
    help: 'Payments in the ledger by state. Check payments that stay unknown.',
    labelNames: ['state'],
    registers,
    async collect() {
      this.reset()
      const counts = await ledger.counts().catch(() => ({}))
      for (const [state, count] of Object.entries(counts)) this.set({ state }, count)
    },
  })
  new Gauge({
    name: 'perpscope_payment_claims',
    help: 'Payments in progress.',
    registers,
    collect() {
      this.set(inFlightPayments.size)
    },
  })
  new Gauge({
    name: 'perpscope_payment_exposure_usdc',
    help: 'Sum of answers that were sent before their transfers were confirmed.',
    registers,
    async collect() {
      const exposure = await ledger.exposure().catch(() => null)
      if (exposure === null) this.remove()
      else this.set(Number(exposure) / 1e6)
    },
  })
  return ({ kind, route, tookMs }) => {
    events.inc({ kind, route: route ?? 'none' })
    if (tookMs === undefined) return
    if (kind === 'verified') verification.observe(tookMs / 1_000)
    else settlement.observe(tookMs / 1_000)
  }
}
