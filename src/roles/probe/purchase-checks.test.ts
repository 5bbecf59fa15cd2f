import { expect, onTestFinished, test, vi } from 'vitest'
import type { PaymentRequirements } from '../../client/x402.ts'
import { problem } from '../../domain/problem.ts'
import { PurchaseChecks } from './purchase-checks.ts'

const accepted: PaymentRequirements = {
  ...{ scheme: 'exact', network: 'eip155:8453', amount: '20000', maxTimeoutSeconds: 120 },
  asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  ...{ payTo: '0x00000000000000000000000000000000000000A1', extra: {} },
}
const quote = { x402Version: 2, resource: { url: 'x' }, accepts: [accepted] }
const header = (value: unknown) => btoa(JSON.stringify(value))

test('a free answer is no purchase', async () => {
  vi.stubGlobal('fetch', async () => new Response('{"meta":{"data_age_seconds":2}}'))
  onTestFinished(() => void vi.unstubAllGlobals())
  const checks = new PurchaseChecks(
    {
      ...{ url: 'https://api.example.com', path: '/pulse/BTC', budgetUsd: 1, payees: undefined },
      pay: () => Promise.reject(new Error('nothing to sign')),
    },
    { nowMs: () => 0, monotonicMs: () => 0 },
  )
  expect(await checks.check()).toMatchObject({
    ...{ outcome: 'failed', ageSeconds: 2 },
    reason: 'answered without a payment: nothing is sold there',
  })
})

test('a purchase with a payment that was sent before still has a price', async () => {
  const { body, status } = problem(
    'service_not_ready',
    { detail: 'Paused.', retryAfterSeconds: 60, paymentReusable: true },
    { instance: '/pulse/BTC', requestId: 'test' },
  )
  const receipt = { success: true, transaction: '0x1', network: accepted.network }
  const toPayments = [
    new Response(body, { status }),
    new Response('{}', { headers: { 'payment-response': header(receipt) } }),
  ]
  vi.stubGlobal('fetch', async (_url: string, init: { headers: Record<string, string> }) =>
    'payment-signature' in init.headers
      ? toPayments.shift()
      : new Response('{}', { status: 402, headers: { 'payment-required': header(quote) } }),
  )
  onTestFinished(() => void vi.unstubAllGlobals())
  const authorization = { to: accepted.payTo, value: accepted.amount, validBefore: '100' }
  const checks = new PurchaseChecks(
    {
      ...{ url: 'https://api.example.com', path: '/pulse/BTC', budgetUsd: 0.03, payees: undefined },
      pay: async () => ({ x402Version: 2, accepted, payload: { authorization } }),
    },
    { nowMs: () => 0, monotonicMs: () => 0 },
  )
  const outcomes = [await checks.check(), await checks.check(), await checks.check()]
  expect(outcomes.map(({ outcome }) => outcome)).toEqual(['failed', 'ok', 'skipped'])
})
