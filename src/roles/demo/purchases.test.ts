import { expect, test, vi } from 'vitest'
import { sampleAnswer } from '../../api/discovery/samples.ts'
import { contracts } from '../../compute/analyses/registry.ts'
import { pathOf } from '../../domain/contract.ts'
import type { DemoPurchases, Shop } from './purchases.ts'
import { buyEverything } from './purchases.ts'
import { NotReadyError } from './readiness.ts'
import { untilSettled } from './wallets.ts'

const URL = 'http://127.0.0.1:1'
const NETWORK = 'eip155:8453'

/** Buys from a service that answers with the samples, which each cost their price; `answer` may fail. */
async function boughtFrom(
  answer: (id: string) => Promise<Response>,
  whenReady: Shop['whenReady'] = async () => undefined,
): Promise<DemoPurchases> {
  let sellerAtomic = 0n
  const pay = async (url: string | globalThis.URL | Request): Promise<Response> => {
    const contract = contracts.find((one) => URL + pathOf(one, 'BTC') === url)
    const response = await answer(contract?.id ?? '')
    if (response.status === 200) sellerAtomic += contract?.priceUsdcAtomic ?? 0n
    return response
  }
  const balances = async () => ({ buyer: 0n, seller: sellerAtomic })
  const wallets = [{ network: NETWORK, v1: pay, v2: pay, balances }]
  const bought: DemoPurchases = { ok: false, purchases: [], transfers: [] }
  const progress = { stage: vi.fn(), detail: vi.fn(), stop: vi.fn() }
  const shop = { wallets, url: URL, whenReady }
  await buyEverything('BTC', shop, progress, bought, async () => undefined)
  return bought
}

const receipt = btoa(JSON.stringify({ network: NETWORK }))
const sold = async (id: string) =>
  Response.json(sampleAnswer(id), { headers: { 'payment-response': receipt } })

test('everything is bought, and what was paid was received', async () => {
  const { ok, purchases, transfers } = await boughtFrom(sold)
  expect(ok).toBe(true)
  expect(purchases.map(({ status, network }) => [status, network])).toEqual(
    contracts.map(() => [200, NETWORK]),
  )
  expect(transfers[0]?.receivedAtomic).toBe(transfers[0]?.paidAtomic)
})

test('a purchase without an answer is reported on standard error, and the others follow', async () => {
  const reported = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  const { ok, purchases } = await boughtFrom(async (id) => {
    if (id === 'pulse') throw new TypeError('fetch failed')
    return sold(id)
  })
  expect(ok).toBe(false)
  expect(purchases.map(({ analysis, status }) => [analysis, status])).toEqual(
    contracts.map(({ id }) => [id, id === 'pulse' ? 0 : 200]),
  )
  expect(purchases).toContainEqual(
    expect.objectContaining({ analysis: 'pulse', network: 'none', bytes: 0 }),
  )
  expect(reported).toHaveBeenCalledExactlyOnceWith('/pulse/BTC: fetch failed\n')
})

test.each([
  { charged: false, status: 200 },
  { charged: null, status: 503 },
])('after a refusal with charged $charged the end is $status', async ({ charged, status }) => {
  vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  let calls = 0
  const refusal = {
    code: 'engine_unavailable',
    detail: 'x',
    retryable: true,
    retry_after: 0,
    charged,
  }
  const { purchases } = await boughtFrom(async (id) => {
    if (id !== 'pulse' || calls > 0) return sold(id)
    calls += 1
    return Response.json(refusal, { status: 503 })
  })
  expect(purchases[0]).toMatchObject({ analysis: 'pulse', status })
})

test('while nothing is sold, as until another engine leads, the demo does not spend its attempts', async () => {
  const unavailable = {
    ...{ code: 'engine_unavailable', detail: 'x', status: 503 },
    ...{ retryable: true, retry_after: 0, charged: false },
  }
  let isReady = false
  const { purchases } = await boughtFrom(
    async (id) => (isReady ? sold(id) : Response.json(unavailable, { status: 503 })),
    async () => {
      isReady = true
    },
  )
  expect(purchases.map(({ status }) => status)).toEqual(contracts.map(() => 200))
})

test('an analysis that is never sold again ends the purchases', async () => {
  const refusal = {
    ...{ code: 'engine_unavailable', detail: 'x', status: 503 },
    ...{ retryable: true, retry_after: 0, charged: false },
  }
  const waited: string[] = []
  const purchases = boughtFrom(
    async () => Response.json(refusal, { status: 503 }),
    async ({ id }) => {
      waited.push(id)
      throw new NotReadyError('no answer within 300 s')
    },
  )
  await expect(purchases).rejects.toThrow('no answer within 300 s')
  expect(waited).toEqual([contracts[0]?.id])
})

test.each([
  { status: 200, charged: undefined },
  { status: 429, charged: null },
])(
  'after an unknown settlement the same payment is sent, which ends in $status',
  async ({ status, charged }) => {
    const unknown = {
      ...{ code: 'settlement_unknown', detail: 'x', status: 503 },
      ...{ retryable: true, retry_after: 0, charged: null, payment_reusable: true },
    }
    // Sent without a look-up of the payment.
    const limited = {
      ...unknown,
      code: 'rate_limited',
      status: 429,
      charged: false,
      retry_after: 60,
    }
    const replies = [
      Response.json(unknown, { status: 503 }),
      status === 200 ? await sold('pulse') : Response.json(limited, { status: 429 }),
    ]
    const payments: (string | null)[] = []
    const pay = untilSettled(async (input) => {
      payments.push(new Request(input).headers.get('payment-signature'))
      return replies.shift() ?? Response.error()
    })
    const response = await pay(URL, { headers: { 'payment-signature': 'one' } })
    expect(payments).toEqual(['one', 'one'])
    expect(response.status).toBe(status)
    const body = (await response.json()) as { charged?: unknown }
    expect(body.charged, 'or the demo would pay again').toBe(charged)
  },
)

test('an answer that is not as declared is no success', async () => {
  const { ok, purchases } = await boughtFrom(async (id) =>
    id === 'pulse' ? Response.json({ coin: 'BTC' }) : sold(id),
  )
  expect(purchases.map(({ status }) => status)).toEqual(contracts.map(() => 200))
  expect(ok).toBe(false)
})
