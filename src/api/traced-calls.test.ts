import Fastify from 'fastify'
import { expect, test } from 'vitest'
import { measured } from '../payment/call-steps.ts'
import type { PaidRoute } from '../payment/terms.ts'
import type { CallTrace } from './traced-calls.ts'
import { traceCalls } from './traced-calls.ts'

const paidRoute = {} as PaidRoute

function fixture(isSampled: () => boolean = () => true) {
  const traces: CallTrace[] = []
  const app = Fastify({ genReqId: () => 'r-1' })
  traceCalls(app, isSampled, (trace) => traces.push(trace))
  app.get('/free', () => ({}))
  app.get('/pulse/:coin', { config: { x402: paidRoute } }, async (request) => {
    await measured(request, 'verify', async () => {})
    await measured(request, 'settle', async () => {
      throw new Error('away')
    }).catch(() => {})
    return {}
  })
  return { app, traces }
}

const payment = { 'x-payment': 'secret-payload' }

test('traces a call with a payment, and its steps in their order', async () => {
  const { app, traces } = fixture()
  await app.inject({ url: '/pulse/BTC?fields=secret', headers: payment })
  const [trace] = traces
  expect(trace).toMatchObject({
    ...{ method: 'GET', route: '/pulse/:coin', status: 200, code: null, requestId: 'r-1' },
    steps: [
      { name: 'verify', isError: false },
      { name: 'settle', isError: true },
    ],
  })
  const [verify, settle] = trace?.steps ?? []
  expect(verify?.beginMs).toBeGreaterThanOrEqual(0)
  expect(settle?.beginMs).toBeGreaterThanOrEqual(verify?.endMs ?? Number.NaN)
  expect(trace?.durationMs).toBeGreaterThanOrEqual(settle?.endMs ?? Number.NaN)
  expect(JSON.stringify(traces)).not.toContain('secret')
  expect(JSON.stringify(traces)).not.toContain('BTC')
})

test('traces neither free calls, quotes, nor calls that are not sampled', async () => {
  const { app, traces } = fixture()
  await app.inject({ url: '/free', headers: payment })
  await app.inject('/pulse/BTC')
  await app.inject({ method: 'HEAD', url: '/pulse/BTC', headers: payment })
  const unsampled = fixture(() => false)
  await unsampled.app.inject({ url: '/pulse/BTC', headers: payment })
  expect([...traces, ...unsampled.traces]).toEqual([])
})
