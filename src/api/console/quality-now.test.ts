import { expect, test } from 'vitest'
import { consolePage } from '../testing/console-fixture.ts'
import { gatewayFixture, quotingGate } from '../testing/gateway-fixture.ts'

const settings = { page: consolePage(), charts: [], sampleCoin: 'BTC' }

test('the quality of every analysis is that of its quote, and no figure that is sold', async () => {
  const gateway = gatewayFixture({ console: settings, payment: quotingGate })
  const { body, headers } = await gateway.app.inject('/console/quality.json')
  expect(headers['cache-control']).toBe('no-store')
  const qualities = JSON.parse(body) as Record<string, unknown>[]
  const pulse = qualities.find(({ id }) => id === 'pulse')
  expect(pulse).toEqual({ id: 'pulse', grade: 'A', coveragePct: 100, ageSeconds: 0 })
  for (const quality of qualities)
    expect(['ageSeconds,coveragePct,grade,id', 'id,refusal']).toContain(
      Object.keys(quality).sort().join(),
    )
})

test('the quality follows the age, and the refusal that a call would get', async () => {
  const gateway = gatewayFixture({ console: settings, payment: quotingGate })
  const pulse = async () => {
    const { body } = await gateway.app.inject('/console/quality.json')
    return (JSON.parse(body) as { id: string }[]).find(({ id }) => id === 'pulse')
  }
  gateway.clock.advance(7_000)
  expect(await pulse()).toMatchObject({ ageSeconds: 7 })
  gateway.engine.disconnected()
  expect(await pulse()).toMatchObject({ refusal: { code: 'engine_unavailable' } })
})
