import type { Registry } from 'prom-client'
import { Counter, Gauge, Histogram } from 'prom-client'
import { reusedFor } from '../api/desk/reused.ts'
import { readGauge, readGauges } from '../api/metrics/read-gauge.ts'
import type { Clock } from '../domain/clock.ts'
import type { InFlightPayments } from '../payment/in-flight-payments.ts'
import type { Ledger } from '../payment/ledger/ledger.ts'
import type { PaymentEvent } from '../payment/payment-event.ts'

/** A verification takes a signature check and a node request; a settlement takes a block. */
const SECONDS = [
  ...[0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
  // PerpscopeSettlementsSlow compares with it: between 5 and 10 the quantile would be a guess.
  ...[8, 10],
]

/** All states and ages of the summary of the ledger, so that each has a series before its first payment. */
const UNSETTLED_STATES = ['settling', 'unknown', 'unconfirmed'] as const
const UNSETTLED_AGES = ['minute', 'hour', 'day', 'older'] as const
const UNSETTLED_PERIOD_MS = 1_000

type MeasuredSales = {
  readonly ledger: Ledger
  /** Of `--broadcast-total-max`, in atomic units. */
  readonly exposureMax: bigint
  readonly inFlightPayments: InFlightPayments
  readonly clock: Pick<Clock, 'nowMs'>
  /** Identifiers of what is sold, and CAIP-2 networks on which it is paid: their series begin at 0. */
  readonly analyses: readonly string[]
  readonly networks: readonly string[]
}

/** Registers the payment metrics. @returns the receiver of payment events */
export function observePayments(
  metrics: Registry,
  sales: MeasuredSales,
): (event: PaymentEvent) => void {
  measureLedger(metrics, sales)
  const receivers = [
    countEvents(metrics),
    countFunnel(metrics, sales),
    countMoney(metrics, sales),
    countSettlements(metrics, sales),
  ]
  return (event) => {
    for (const receive of receivers) receive(event)
  }
}

type Receiver = (event: PaymentEvent) => void

function countEvents(metrics: Registry): Receiver {
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
  return ({ kind, route, tookMs }) => {
    events.inc({ kind, route: route ?? 'none' })
    if (tookMs === undefined) return
    if (kind === 'verified') verification.observe(tookMs / 1_000)
    else if (kind === 'settled' || kind === 'trusted') settlement.observe(tookMs / 1_000)
  }
}

/** Steps of a sale, in their order, by the event that ends each. */
const steps: Readonly<Partial<Record<PaymentEvent['kind'], string>>> = {
  quoted: 'quoted',
  presented: 'signed',
  verified: 'verified',
  settled: 'paid',
  trusted: 'paid',
}

function countFunnel(metrics: Registry, { analyses }: MeasuredSales): Receiver {
  const funnel = new Counter({
    name: 'perpscope_sales_funnel_total',
    help: 'Calls by the step that they reached: quoted (402), signed (a new payment arrived), verified, paid (the answer was sent).',
    labelNames: ['analysis', 'step'],
    registers: [metrics],
  })
  for (const analysis of analyses)
    for (const step of new Set(Object.values(steps))) funnel.inc({ analysis, step }, 0)
  return ({ kind, route, isAnswered }) => {
    const step = steps[kind]
    if (step === undefined || (step === 'paid' && isAnswered !== true)) return
    funnel.inc({ analysis: analysisOf(route), step })
  }
}

function countMoney(metrics: Registry, { analyses, networks }: MeasuredSales): Receiver {
  const counter = (name: string, help: string) => {
    const counted = new Counter({
      ...{ name, help, labelNames: ['analysis', 'network'], registers: [metrics] },
    })
    // A settlement that ends after its request has no route.
    for (const analysis of [...analyses, analysisOf(null)])
      for (const network of networks) counted.inc({ analysis, network }, 0)
    return counted
  }
  const revenue = counter(
    'perpscope_revenue_usdc_total',
    'Payments that this process earned, in USDC. The ledger has the exact sums.',
  )
  const lost = counter(
    'perpscope_lost_usdc_total',
    'Payments that were counted as revenue when their answer was sent, and whose transfer can never happen.',
  )
  const late = counter(
    'perpscope_late_settlement_usdc_total',
    'Payments that settled after their request had ended without the answer, which is kept for the buyer.',
  )
  return ({ kind, route, network, amount, isAnswered }) => {
    if (network === undefined || amount === undefined) return
    const labels = { analysis: analysisOf(route), network }
    if (kind === 'lost') lost.inc(labels, usdc(amount))
    else revenue.inc(labels, usdc(amount))
    if (kind === 'settled' && isAnswered !== true) late.inc(labels, usdc(amount))
  }
}

/** Verdicts of settlements; `open` is a settlement whose outcome is not known yet. */
const OUTCOMES = ['paid', 'trusted', 'refused', 'unavailable', 'open'] as const

function countSettlements(metrics: Registry, { networks }: MeasuredSales): Receiver {
  const outcomes = new Counter({
    name: 'perpscope_settlements_total',
    help: 'Settlements by outcome: paid, trusted (sent before it is final), refused, unavailable (never begun), open (not known yet).',
    labelNames: ['network', 'outcome'],
    registers: [metrics],
  })
  const durations = new Histogram({
    name: 'perpscope_settlement_duration_seconds',
    help: 'Duration of settlements, whatever their outcome.',
    labelNames: ['network'],
    buckets: SECONDS,
    registers: [metrics],
  })
  for (const network of networks) {
    durations.zero({ network })
    for (const outcome of OUTCOMES) outcomes.inc({ network, outcome }, 0)
  }
  return ({ kind, network, reason, tookMs }) => {
    if (kind !== 'attempted' || network === undefined) return
    outcomes.inc({ network, outcome: reason ?? 'open' })
    durations.observe({ network }, (tookMs ?? 0) / 1_000)
  }
}

function measureLedger(
  metrics: Registry,
  { ledger, inFlightPayments, clock, exposureMax }: MeasuredSales,
): void {
  readGauges(
    metrics,
    'perpscope_payments',
    'Payments in the ledger by state. Check payments that stay unknown.',
    'state',
    async () => Object.entries(await ledger.counts()),
  )
  readGauge(
    metrics,
    'perpscope_payment_claims',
    'Payments in progress.',
    () => inFlightPayments.size,
  )
  readGauge(
    metrics,
    'perpscope_payment_exposure_usdc',
    'Sum of answers that were sent before their transfers were confirmed.',
    () => ledger.exposure().then(usdc),
  )
  readGauge(
    metrics,
    'perpscope_payment_exposure_limit_usdc',
    'Highest such sum (--broadcast-total-max).',
    () => usdc(exposureMax),
  )
  measureUnsettled(metrics, ledger, clock)
}

function measureUnsettled(metrics: Registry, ledger: Ledger, clock: Pick<Clock, 'nowMs'>): void {
  const read = reusedFor(UNSETTLED_PERIOD_MS, clock, async () => {
    const nowMs = clock.nowMs()
    // A window without a day: what is open is wanted, and no sales.
    return (await ledger.summary(nowMs + 1, nowMs)).open
  })
  const gauge = (name: string, help: string, value: (line: UnsettledLine) => number) =>
    new Gauge({
      ...{ name, help, labelNames: ['state', 'age'], registers: [metrics] },
      async collect() {
        this.reset()
        const lines = await read().catch(() => null)
        if (lines === null) return
        for (const state of UNSETTLED_STATES)
          for (const age of UNSETTLED_AGES) this.set({ state, age }, 0)
        for (const line of lines) this.set({ state: line.state, age: line.age }, value(line))
      },
    })
  gauge(
    'perpscope_unsettled_payments',
    'Payments without a final outcome, by state and by the age of their settlement: up to a minute, an hour, a day, or older.',
    ({ payments }) => payments,
  )
  gauge(
    'perpscope_unsettled_usdc',
    'Sum of the payments without a final outcome, in USDC.',
    ({ amount }) => usdc(amount),
  )
}

/** For a gauge only: sums of money are never computed from it. */
function usdc(amount: bigint): number {
  return Number(amount) / 1e6
}

type UnsettledLine = { readonly payments: number; readonly amount: bigint }

/** Of the pattern of a route, such as `/pulse/:coin`. */
function analysisOf(route: string | null): string {
  return route?.split('/')[1] || 'none'
}
