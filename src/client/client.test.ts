import { expect, test, vi } from 'vitest'
import type { PaymentRequirements } from './client.ts'
import { PaymentRefusedError, PerpscopeClient, UnansweredError } from './client.ts'

const ORIGIN = 'https://api.example.com'

test.each([
  ['pulse/BTC', '/pulse/BTC'],
  ['/pulse/BTC?view=compact', '/pulse/BTC?view=compact'],
  ['.evil.example/x', '/.evil.example/x'],
  ['@evil.example/x', '/@evil.example/x'],
  ['//evil.example/x', '/evil.example/x'],
  ['/\t/evil.example/x', '/evil.example/x'],
  ['\\\\evil.example/x', '/evil.example/x'],
])('the path %j stays on the host of the service', async (path, called) => {
  for (const url of [ORIGIN, '']) {
    const client = new PerpscopeClient({
      url,
      fetch: async (target) => Response.json(new URL(target, ORIGIN).href),
    })
    expect((await client.call(path)).answer).toBe(ORIGIN + called)
  }
})

test.each([
  { charged: null, signed: 1 },
  { charged: false, signed: 2 },
])(
  'after an unanswered call and a 402 with charged: $charged, $signed payments are signed',
  async (row) => {
    const accepted: PaymentRequirements = {
      ...{ scheme: 'exact', network: 'eip155:8453', amount: '20000', maxTimeoutSeconds: 120 },
      asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
      payTo: '0x00000000000000000000000000000000000000A1',
      extra: {},
    }
    const authorization = { to: accepted.payTo, value: accepted.amount, validBefore: '120' }
    const pay = vi.fn(async () => ({ x402Version: 2, accepted, payload: { authorization } }))
    const quote = btoa(
      JSON.stringify({ x402Version: 2, resource: { url: ORIGIN }, accepts: [accepted] }),
    )
    let isAnswering = false
    const client = new PerpscopeClient({
      ...{ url: ORIGIN, pay, nowMs: () => 0, wait: async () => undefined },
      fetch: async (_url, { headers }) => {
        const isPaid = 'payment-signature' in headers
        if (isPaid && !isAnswering) throw new TypeError('the connection broke')
        const body = isPaid ? { diagnostics: { reason: 'x', hint: 'y', charged: row.charged } } : {}
        return Response.json(body, { status: 402, headers: { 'payment-required': quote } })
      },
    })
    await expect(client.call('/pulse/BTC')).rejects.toThrow(UnansweredError)
    isAnswering = true
    await expect(client.call('/pulse/BTC')).rejects.toThrow(PaymentRefusedError)
    expect(pay).toHaveBeenCalledTimes(row.signed)
  },
)
