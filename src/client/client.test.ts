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

type PaidReply = () => Response | Promise<Response>

/** A client and what the service replies to its payments. */
function rig(reply: PaidReply) {
  const accepted: PaymentRequirements = {
    ...{ scheme: 'exact', network: 'eip155:8453', amount: '20000', maxTimeoutSeconds: 120 },
    asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
    payTo: '0x00000000000000000000000000000000000000A1',
    extra: {},
  }
  const authorization = { to: accepted.payTo, value: accepted.amount, validBefore: '120' }
  let signature = 0
  const pay = vi.fn(async () => {
    signature += 1
    return { x402Version: 2, accepted, payload: { authorization, signature } }
  })
  const quote = btoa(
    JSON.stringify({ x402Version: 2, resource: { url: ORIGIN }, accepts: [accepted] }),
  )
  const service = { reply, nowMs: 0 }
  const client = new PerpscopeClient({
    ...{ url: ORIGIN, pay, nowMs: () => service.nowMs, wait: async () => undefined },
    fetch: async (_url, { headers }) =>
      'payment-signature' in headers
        ? service.reply()
        : Response.json({}, { status: 402, headers: { 'payment-required': quote } }),
  })
  return { client, pay, service }
}

const lost: PaidReply = () => Promise.reject(new TypeError('the connection broke'))
const sold: PaidReply = () => Response.json({ coin: 'BTC' })
const refusedAs = (charged: false | null): PaidReply => {
  return () => Response.json({ diagnostics: { reason: 'x', hint: 'y', charged } }, { status: 402 })
}

test('after an unanswered call and a 402 with charged: false another payment is signed', async () => {
  const { client, pay, service } = rig(lost)
  await expect(client.call('/pulse/BTC')).rejects.toThrow(UnansweredError)
  service.reply = refusedAs(false)
  await expect(client.call('/pulse/BTC')).rejects.toThrow(PaymentRefusedError)
  expect(pay).toHaveBeenCalledTimes(2)
})

test('a payment refused with charged: null is kept, counted and sent again', async () => {
  const { client, pay, service } = rig(refusedAs(null))
  for (let call = 0; call < 2; call += 1) {
    const failure = await client.call('/pulse/BTC').catch((cause) => cause)
    expect(failure).toBeInstanceOf(UnansweredError)
    expect(failure.cause).toBeInstanceOf(PaymentRefusedError)
    expect(client.spentUsd).toBe(0.02)
  }
  service.reply = sold
  expect((await client.call('/pulse/BTC')).answer).toEqual({ coin: 'BTC' })
  expect(pay).toHaveBeenCalledTimes(1)
})

test('a payment refused with charged: null after its end stays counted, and another is signed', async () => {
  const { client, pay, service } = rig(refusedAs(null))
  await expect(client.call('/pulse/BTC')).rejects.toThrow(UnansweredError)
  service.nowMs = 1_000_000
  await expect(client.call('/pulse/BTC')).rejects.toThrow(UnansweredError)
  expect(pay).toHaveBeenCalledTimes(1)
  service.reply = sold
  await client.call('/pulse/BTC')
  expect(pay).toHaveBeenCalledTimes(2)
  expect(client.spentUsd).toBe(0.04)
})

test('a payment that is discarded stays counted, and another is signed', async () => {
  const { client, pay, service } = rig(refusedAs(null))
  const { payment } = await client.call('/pulse/BTC').catch((cause) => cause)
  client.discard({ ...payment, header: 'another' })
  await expect(client.call('/pulse/BTC')).rejects.toThrow(UnansweredError)
  expect(pay).toHaveBeenCalledTimes(1)
  client.discard(payment)
  service.reply = sold
  await client.call('/pulse/BTC')
  expect(pay).toHaveBeenCalledTimes(2)
  expect(client.spentUsd).toBe(0.04)
})
