import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { ManualClock } from '../../test/support/manual-clock.ts'
import { InFlightPayments } from '../payment/in-flight-payments.ts'
import { SqliteLedger } from '../payment/ledger/sqlite-ledger.ts'
import type { PaymentEvent } from '../payment/payment-event.ts'
import { observePayments } from './payment-metrics.ts'

const BASE = 'eip155:8453'
const ROUTE = '/pulse/:coin'

function fixture() {
  const metrics = new Registry()
  const receive = observePayments(metrics, {
    ledger: new SqliteLedger(':memory:'),
    inFlightPayments: new InFlightPayments(),
    clock: new ManualClock(),
    exposureMax: 5_000_000n,
    analyses: ['pulse', 'basis'],
    networks: [BASE],
  })
  /** Value of a series, such as `name{label="value"}`; undefined without it. */
  const read = async (series: string) => {
    const lines = (await metrics.metrics()).split('\n')
    const line = lines.find((one) => one.startsWith(`${series} `))
    return line === undefined ? undefined : Number(line.slice(series.length + 1))
  }
  return { receive, read }
}

const revenue = `perpscope_revenue_usdc_total{analysis="pulse",network="${BASE}"}`
const late = `perpscope_late_settlement_usdc_total{analysis="pulse",network="${BASE}"}`
const lost = `perpscope_lost_usdc_total{analysis="pulse",network="${BASE}"}`
const paid = 'perpscope_sales_funnel_total{analysis="pulse",step="paid"}'

test('every series of sales exists before the first sale', async () => {
  const { read } = fixture()
  const unrouted = late.replace('pulse', 'none')
  for (const series of [revenue, late, lost, paid, unrouted]) expect(await read(series)).toBe(0)
  expect(await read(`perpscope_settlements_total{network="${BASE}",outcome="refused"}`)).toBe(0)
  expect(await read('perpscope_unsettled_usdc{state="unknown",age="older"}')).toBe(0)
  expect(await read('perpscope_payment_exposure_limit_usdc')).toBe(5)
})

test('the alert for slow settlements has a bucket at its limit', async () => {
  const { receive, read } = fixture()
  receive({ kind: 'attempted', route: ROUTE, network: BASE, reason: 'paid', tookMs: 6_000 })
  const bucket = `perpscope_settlement_duration_seconds_bucket{le="8",network="${BASE}"}`
  expect(await read(bucket)).toBe(1)
})

test('a sale is counted in each step, and as revenue once', async () => {
  const { receive, read } = fixture()
  const sale: readonly PaymentEvent[] = [
    { kind: 'quoted', route: ROUTE },
    { kind: 'presented', route: ROUTE },
    { kind: 'verified', route: ROUTE, tookMs: 20 },
    { kind: 'attempted', route: ROUTE, network: BASE, reason: 'trusted', tookMs: 300 },
    {
      ...{ kind: 'trusted', route: ROUTE, network: BASE, amount: 50_000n },
      ...{ isAnswered: true, tookMs: 310 },
    },
    // The transfer is final later: no new money.
    { kind: 'settled', route: ROUTE, network: BASE },
  ]
  for (const event of sale) receive(event)
  for (const step of ['quoted', 'signed', 'verified', 'paid'])
    expect(await read(`perpscope_sales_funnel_total{analysis="pulse",step="${step}"}`)).toBe(1)
  expect(await read(revenue)).toBe(0.05)
  expect(await read(late)).toBe(0)
  expect(await read(`perpscope_settlements_total{network="${BASE}",outcome="trusted"}`)).toBe(1)
  expect(await read(`perpscope_settlement_duration_seconds_sum{network="${BASE}"}`)).toBe(0.3)
})

test('a payment that settles after its request is revenue and late', async () => {
  const { receive, read } = fixture()
  receive({ kind: 'attempted', route: ROUTE, network: BASE, reason: 'open', tookMs: 10_000 })
  receive({ kind: 'open', route: ROUTE })
  receive({ kind: 'settled', route: ROUTE, network: BASE, amount: 50_000n })
  expect(await read(revenue)).toBe(0.05)
  expect(await read(late)).toBe(0.05)
  expect(await read(paid)).toBe(0)
})

test('a payment whose transfer can never happen is lost', async () => {
  const { receive, read } = fixture()
  receive({ kind: 'lost', route: ROUTE, network: BASE, amount: 50_000n })
  expect(await read(lost)).toBe(0.05)
  expect(await read(revenue)).toBe(0)
})
