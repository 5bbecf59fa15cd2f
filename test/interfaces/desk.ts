import { describe, expect, test } from 'vitest'
import { pulse } from '../../src/compute/analyses/pulse/pulse.ts'
import { contracts } from '../../src/compute/analyses/registry.ts'
import type { ControlReport, HealthReport, MoneyReport } from '../../src/domain/desk-reports.ts'
import { encodedPayment, newBuyer, signedPayload } from '../../src/payment/testing/buyer.ts'
import type { Rig } from '../support/service.ts'
import { until } from '../support/service.ts'

/**
 * The reports of the admin port of a running service; their parts have their own tests. They run at the same time: the
 * report of money is kept for ten seconds, and the doctor listens to every source for eight.
 */
export function deskTests(service: () => Rig): void {
  describe.concurrent('the desk of a running service', () => {
    async function report<Report>(name: string): Promise<Report> {
      const response = await fetch(`${service().adminUrl}/desk/${name}`)
      expect(response.status).toBe(200)
      return (await response.json()) as Report
    }

    test('reports both threads, the sources and the documents', async () => {
      let health = await report<HealthReport>('health')
      await until('the engine has sent heartbeats, and the venue what is of now', async () => {
        health = await report<HealthReport>('health')
        const { engine, sources, threads } = health
        const ages = [engine.heartbeatAgeMs, sources[0]?.lagMs]
        const isMeasured =
          threads.length === 2 && threads.every(({ loopDelay }) => loopDelay !== null)
        const isUp = engine.state === 'available' && sources[0]?.state === 'up'
        return isMeasured && isUp && ages.every((ms) => typeof ms === 'number' && ms < 15_000)
      })
      expect(health).toMatchObject({ role: 'all', engine: { state: 'available' } })
      const [venue, ...others] = health.sources
      expect(venue).toMatchObject({ source: 'venue', state: 'up' })
      expect(others.length).toBeGreaterThan(5)
      for (const { heapUsedBytes } of health.threads) expect(heapUsedBytes).toBeGreaterThan(1e6)
      expect(health.residentBytes).toBeGreaterThan(1e7)
      expect(health.disk?.freeBytes).toBeGreaterThan(0)
      expect(health.documents.map(({ analysis }) => analysis)).toEqual(
        contracts.map(({ id }) => id),
      )
      const [documents] = health.documents.filter(({ analysis }) => analysis === 'pulse')
      expect(documents?.answerable).toBeGreaterThan(0)
      expect(documents?.worstAgeMs).toBeGreaterThanOrEqual(documents?.medianAgeMs ?? Number.NaN)
      expect(health.requests?.routes.map(({ route }) => route)).toContain('/pulse/:coin')
      expect(health.checks).toContainEqual({ check: 'ledger_writable', fault: null })
    })

    test('reports a purchase in every figure of money', async () => {
      const before = await report<MoneyReport>('money')
      const wallet = newBuyer()
      await service().chain.fundUsdc(wallet.address, 1_000_000n)
      const amount = pulse.contract.priceUsdcAtomic
      const payTo = service().chain.accounts.merchant.address
      const path = `${service().url}/pulse/BTC`
      await fetch(path)
      const choices = { amount, payTo, nowMs: Date.now() }
      const payment = encodedPayment(await signedPayload(wallet, choices))
      await until('the answer is sold', async () => {
        return (await fetch(path, { headers: { 'x-payment': payment } })).status === 200
      })
      const soldOf = ({ sales }: MoneyReport) =>
        sales?.earnings
          .filter(({ route, network }) => route === '/pulse/:coin' && network.startsWith('eip155'))
          .reduce((sum, { amountAtomic }) => sum + BigInt(amountAtomic), 0n) ?? 0n
      await until('the report has it', async () => {
        return soldOf(await report<MoneyReport>('money')) > soldOf(before)
      })
      const after = await report<MoneyReport>('money')
      const { sales, reason } = after
      expect(reason).toBeNull()
      expect(sales?.buyers.count).toBeGreaterThan(before.sales?.buyers.count ?? 0)
      const pulseOf = ({ sales: sold }: MoneyReport) =>
        sold?.funnel.find(({ analysis }) => analysis === 'pulse')
      const [funnel, earlier] = [pulseOf(after), pulseOf(before)]
      expect(funnel?.requests).toBeGreaterThan((earlier?.requests ?? 0) + 1)
      expect(funnel?.quotes).toBeGreaterThan(earlier?.quotes ?? 0)
      expect(funnel?.sales).toBeGreaterThan(earlier?.sales ?? 0)
      expect(sales?.gas.map(({ coin }) => coin)).toEqual(['ETH', 'SOL'])
      expect(sales?.channels).toBeNull()
    })

    test('shows its options without keys, and runs the doctor with them', async () => {
      const control = await report<ControlReport>('control')
      expect(control).toMatchObject({ canRestartEngine: true, maintenance: { isOn: false } })
      expect(control.doctor.state, 'it runs on request alone').toBe('never')
      const optionOf = (name: string) => control.configuration.find(({ option }) => option === name)
      expect(optionOf('--facilitator-key')).toMatchObject({ value: 'set', origin: 'variable' })
      expect(optionOf('--data-dir')).toMatchObject({ value: service().dataDir, origin: 'flag' })
      expect(optionOf('--admin-host')).toMatchObject({ value: '127.0.0.1', origin: 'default' })
      const { privateKey } = service().chain.accounts.facilitator
      expect(JSON.stringify(control)).not.toContain(privateKey)
      const started = await fetch(`${service().adminUrl}/doctor`, { method: 'POST' })
      expect(started.status).toBe(202)
      await until('the doctor has ended', async () => {
        return (await report<ControlReport>('control')).doctor.state !== 'running'
      })
      const { doctor } = await report<ControlReport>('control')
      expect(doctor).toMatchObject({ state: 'done', failure: null })
      const checks = doctor.findings.map(({ check }) => check)
      expect(checks).toEqual(
        expect.arrayContaining(['configuration', 'service', 'ledger', 'source okx']),
      )
      expect(doctor.findings).toContainEqual(
        expect.objectContaining({ check: 'service', status: 'ok' }),
      )
    })
  })
}
