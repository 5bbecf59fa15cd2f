import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../test/support/manual-clock.ts'
import { ClockCheck } from './clock-check.ts'
import { HealthMonitor } from './health-monitor.ts'
import type { PaymentMethod } from './payment.ts'
import type { SalesCheck } from './sales-readiness.ts'
import { SalesReadiness } from './sales-readiness.ts'

const fault = { reason: 'the node is dead', sinceMs: 5 }

function method(readiness?: () => typeof fault | null, isSuspended = false): PaymentMethod {
  const unread = () => {
    throw new Error('nothing is read')
  }
  return {
    scheme: 'exact',
    network: 'eip155:8453',
    legacyName: 'base',
    asset: 'USDC',
    payTo: 'us',
    extra: {},
    isSuspended,
    ...(readiness && { readiness }),
    read: unread,
  }
}

async function salesOf(methods: readonly PaymentMethod[], ledgerFault: string | null = null) {
  const clock = new ManualClock()
  const ledger = new HealthMonitor({ clock, chance: () => 0, probe: () => ledgerFault })
  await ledger.probe()
  return new SalesReadiness({ methods, ledger, clock: new ClockCheck({ clock }) })
}

function failing(sales: SalesReadiness): readonly SalesCheck[] {
  return sales.checks().flatMap((one) => (one.fault === null ? [] : [one.check]))
}

describe('sales', () => {
  const dead = method(() => fault)

  test.each([
    { what: 'a way to pay that says nothing', methods: [method()], expected: [] },
    { what: 'one that can', methods: [method(() => null)], expected: [] },
    { what: 'one of two that can', methods: [dead, method()], expected: [] },
    { what: 'one that cannot', methods: [dead], expected: ['can_settle'] },
    { what: 'two that cannot', methods: [dead, dead], expected: ['can_settle'] },
    {
      what: 'one that cannot beside one that sells nothing',
      methods: [dead, method(undefined, true)],
      expected: ['can_settle'],
    },
  ])('with $what lack $expected', async ({ methods, expected }) => {
    expect(failing(await salesOf(methods))).toEqual(expected)
  })

  test('are hindered for the first thing that is wrong, and a signed payment not by settlements', async () => {
    const sales = await salesOf([dead], 'the disk is full')
    expect(sales.hindrance({ isPaid: false })?.check).toBe('ledger_writable')
    const unsettled = await salesOf([dead])
    expect(unsettled.hindrance({ isPaid: false })).toEqual({
      check: 'can_settle',
      fault: { reason: 'eip155:8453: the node is dead', sinceMs: 5 },
    })
    expect(unsettled.hindrance({ isPaid: true })).toBeNull()
  })

  test('are hindered while the engine of another process does not fit, also for a signed payment', async () => {
    const clock = new ManualClock()
    const ledger = new HealthMonitor({ clock, chance: () => 0, probe: () => null })
    const engine = [{ check: 'engine_agrees', fault }] as const
    const sales = new SalesReadiness({
      ...{ methods: [method()], ledger, clock: new ClockCheck({ clock }), others: () => engine },
    })
    expect(sales.hindrance({ isPaid: true })).toEqual({ check: 'engine_agrees', fault })
  })

  test('that were settled prove that the ledger is written', async () => {
    const sales = await salesOf([method()], 'the disk is full')
    sales.record({ kind: 'verified', route: null })
    expect(failing(sales)).toEqual(['ledger_writable'])
    sales.record({ kind: 'settled', route: null })
    expect(failing(sales)).toEqual([])
  })
})
