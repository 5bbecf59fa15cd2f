import { connect } from 'node:net'
import { ExactEvmScheme } from '@x402/evm'
import { registerExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import type { PrivateKeyAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ExactEvmPayment } from '../src/payment/evm/exact-evm.ts'
import { localFacilitator } from '../src/payment/evm/local-facilitator.ts'
import { base, baseSepolia } from '../src/payment/evm/networks.ts'
import type { Facilitator } from '../src/payment/payment.ts'
import type { PaymentChoices } from '../src/payment/testing/buyer.ts'
import { encodedPayment, newBuyer, signedPayload } from '../src/payment/testing/buyer.ts'
import type { PaidHost } from '../src/payment/testing/paid-host.ts'
import { DEARER_PRICE, PRICE, startPaidHost } from '../src/payment/testing/paid-host.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import type { EvmChain } from '../src/simulator/evm/evm-chain.ts'
import { startEvmChain } from '../src/simulator/evm/evm-chain.ts'
import { promptClock } from './support/prompt-clock.ts'
import { putUsdc } from './support/usdc-balance.ts'

const FUNDS = 1_000_000n
const STRANGER = '0x000000000000000000000000000000000000dEaD'

let chain: EvmChain
let host: PaidHost
let facilitator: Facilitator<ExactEvmPayment>

beforeAll(async () => {
  chain = await startEvmChain({ clock: systemClock })
  facilitator = localFacilitator({
    network: base,
    rpcUrl: chain.rpcUrl,
    privateKey: chain.accounts.facilitator.privateKey,
    clock: promptClock,
  })
  host = await startPaidHost({
    payTo: chain.accounts.merchant.address,
    facilitator,
    clock: systemClock,
  })
})

afterAll(async () => {
  await host?.close()
  await chain?.close()
})

async function fundedBuyer(): Promise<PrivateKeyAccount> {
  const buyer = newBuyer()
  await putUsdc(chain, buyer.address, FUNDS)
  return buyer
}

function sign(buyer: PrivateKeyAccount, choices: Partial<PaymentChoices> = {}) {
  return signedPayload(buyer, {
    amount: PRICE,
    payTo: chain.accounts.merchant.address,
    nowMs: systemClock.nowMs(),
    ...choices,
  })
}

async function paymentOf(buyer: PrivateKeyAccount, choices: Partial<PaymentChoices> = {}) {
  return encodedPayment(await sign(buyer, choices))
}

async function call(path: string, payment?: string, header = 'payment-signature') {
  const response = await fetch(host.url + path, {
    headers: payment === undefined ? {} : { [header]: payment },
  })
  const body = Buffer.from(await response.arrayBuffer())
  return { status: response.status, headers: response.headers, body, text: body.toString() }
}

function receiptIn(headers: Headers, name = 'payment-response') {
  return JSON.parse(Buffer.from(headers.get(name) ?? '', 'base64').toString())
}

const spent = async (buyer: PrivateKeyAccount) => FUNDS - (await chain.balanceOf(buyer.address))

describe('the quote', () => {
  test('speaks version 1 in the body and version 2 in the header, without charging', async () => {
    const runsBefore = host.runs()
    const { status, headers, text } = await call('/pulse/BTC?timeframes=1h')
    expect(status).toBe(402)
    expect(headers.get('cache-control')).toBe('no-store')
    const header = headers.get('payment-required') ?? ''
    expect(header.length).toBeLessThan(4_000)
    const v2 = JSON.parse(Buffer.from(header, 'base64').toString())
    expect(v2).toMatchObject({
      x402Version: 2,
      resource: { url: 'https://api.example.com/pulse/BTC?timeframes=1h' },
      accepts: [
        {
          scheme: 'exact',
          network: 'eip155:8453',
          amount: '20000',
          asset: chain.usdc,
          payTo: chain.accounts.merchant.address,
          extra: { name: 'USD Coin', version: '2' },
        },
      ],
    })
    const v1 = JSON.parse(text)
    expect(Object.keys(v1)).toEqual(['x402Version', 'error', 'accepts'])
    expect(v1).toMatchObject({
      x402Version: 1,
      error: 'payment_required',
      accepts: [
        {
          network: 'base',
          maxAmountRequired: '20000',
          resource: 'https://api.example.com/pulse/BTC?timeframes=1h',
        },
      ],
    })
    expect(host.runs()).toBe(runsBefore)
  })

  test('names the configured host, independent of the Host header', async () => {
    const raw = await rawRequest('GET /pulse/BTC HTTP/1.1', 'evil.example')
    expect(raw).toMatch(/^HTTP\/1\.1 402 /)
    expect(raw).not.toContain('evil.example')
  })
})

describe('public clients', () => {
  test('@x402/fetch pays as version 2, exactly the price', async () => {
    const buyer = await fundedBuyer()
    const merchantBefore = await chain.balanceOf(chain.accounts.merchant.address)
    const client = new x402Client().register('eip155:8453', new ExactEvmScheme(buyer))
    const response = await wrapFetchWithPayment(fetch, client)(`${host.url}/pulse/BTC`)
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({ coin: { coin: 'BTC' } })
    expect(response.headers.get('cache-control')).toMatch(/private/)
    expect(receiptIn(response.headers)).toMatchObject({
      success: true,
      network: 'eip155:8453',
      payer: buyer.address,
      transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
    })
    expect(await spent(buyer)).toBe(PRICE)
    expect(await chain.balanceOf(chain.accounts.merchant.address)).toBe(merchantBefore + PRICE)
  })

  test('@x402/fetch pays as version 1 when it sees only the body', async () => {
    const buyer = await fundedBuyer()
    const client = registerExactEvmScheme(new x402Client(), { signer: buyer })
    const sent: string[] = []
    const withoutVersion2: typeof fetch = async (input, init) => {
      const request = new Request(input, init)
      if (request.headers.has('x-payment')) sent.push('x-payment')
      if (request.headers.has('payment-signature')) sent.push('payment-signature')
      const response = await fetch(request)
      const headers = new Headers(response.headers)
      headers.delete('payment-required')
      return new Response(response.body, { status: response.status, headers })
    }
    const response = await wrapFetchWithPayment(withoutVersion2, client)(`${host.url}/pulse/ETH`)
    expect(response.status).toBe(200)
    expect(sent).toEqual(['x-payment'])
    expect(receiptIn(response.headers, 'x-payment-response')).toMatchObject({ network: 'base' })
    expect(await spent(buyer)).toBe(PRICE)
  })

  test.each([
    { version: 1, header: 'x-payment' },
    { version: 2, header: 'x-payment' },
    { version: 2, header: 'payment-signature' },
  ] as const)('version $version in $header is accepted', async ({ version, header }) => {
    const buyer = await fundedBuyer()
    const { status } = await call('/pulse/SOL', await paymentOf(buyer, { version }), header)
    expect(status).toBe(200)
    expect(await spent(buyer)).toBe(PRICE)
  })
})

describe('nothing is charged', () => {
  test.each([300, 304, 400, 401, 402, 404, 409, 418, 422, 429, 451, 500, 501, 503, 504, 599])(
    'for an answer with status %i, and the payment stays good',
    async (answerStatus) => {
      const buyer = await fundedBuyer()
      const payment = await paymentOf(buyer)
      const { status, headers } = await call(`/status/${answerStatus}`, payment)
      expect(status).toBe(answerStatus)
      expect(headers.get('payment-response')).toBeNull()
      expect(await spent(buyer)).toBe(0n)
      expect((await call('/pulse/BTC', payment)).status, 'the same payment buys another').toBe(200)
      expect(await spent(buyer)).toBe(PRICE)
    },
  )

  test('when the handler throws', async () => {
    const buyer = await fundedBuyer()
    const { status } = await call('/throws', await paymentOf(buyer))
    expect(status).toBe(500)
    expect(await spent(buyer)).toBe(0n)
  })

  test('for an empty answer, which is an error', async () => {
    const buyer = await fundedBuyer()
    const { status, text } = await call('/empty', await paymentOf(buyer))
    expect(status).toBe(500)
    expect(JSON.parse(text)).toMatchObject({ code: 'internal_error', charged: false })
    expect(await spent(buyer)).toBe(0n)
  })

  test('to a wallet with insufficient funds', async () => {
    const runsBefore = host.runs()
    const { status, headers, text } = await call('/pulse/BTC', await paymentOf(newBuyer()))
    expect(status).toBe(402)
    expect(JSON.parse(text)).toMatchObject({
      error: 'payment_invalid',
      diagnostics: { reason: 'insufficient_funds' },
    })
    expect(receiptIn(headers)).toMatchObject({ success: false, transaction: '' })
    expect(host.runs()).toBe(runsBefore)
  })
})

describe('one payment', () => {
  test('sent 20 times concurrently runs the handler once, is charged once and gets identical answers', async () => {
    const buyer = await fundedBuyer()
    const payment = await paymentOf(buyer)
    const runsBefore = host.runs()
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => call('/pulse/DOGE', payment)),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(new Set(answers.map(({ headers }) => headers.get('payment-response'))).size).toBe(1)
    expect(new Set(answers.map(({ headers }) => headers.get('etag'))).size).toBe(1)
    expect(host.runs()).toBe(runsBefore + 1)
    expect(await spent(buyer)).toBe(PRICE)
  })

  test('repeated later gets the same bytes without a charge, in any spelling', async () => {
    const buyer = await fundedBuyer()
    const payload = await sign(buyer)
    const first = await call('/pulse/BTC?a=1&b=2', encodedPayment(payload))
    const runsBefore = host.runs()
    for (const again of [
      await call('/pulse/BTC?a=1&b=2', encodedPayment(payload)),
      await call('/pulse/%42TC?b=2&a=1', encodedPayment(payload)),
      await call('/pulse/BTC?a=1&b=2', encodedPayment(payload), 'x-payment'),
    ]) {
      expect(again.status).toBe(200)
      expect(again.text).toBe(first.text)
      expect(again.headers.get('etag')).toBe(first.headers.get('etag'))
      expect(again.headers.get('payment-response')).toBe(first.headers.get('payment-response'))
    }
    expect(host.runs()).toBe(runsBefore)
    expect(await spent(buyer)).toBe(PRICE)
  })

  test.each(['/pulse/ETH', '/pulse/BTC?timeframes=1h', '/bundle/BTC'])(
    'cannot be used for %s as well',
    async (other) => {
      const buyer = await fundedBuyer()
      const payment = await paymentOf(buyer)
      expect((await call('/pulse/BTC', payment)).status).toBe(200)
      const { status, text } = await call(other, payment)
      expect(status).toBe(409)
      expect(JSON.parse(text)).toMatchObject({ code: 'payment_replayed', charged: null })
    },
  )

  test('cannot lend its nonce to another authorization', async () => {
    const buyer = await fundedBuyer()
    const nonce = `0x${'5a'.repeat(32)}` as const
    expect((await call('/pulse/BTC', await paymentOf(buyer, { nonce }))).status).toBe(200)
    const validAfterSeconds = 1n
    const second = await paymentOf(buyer, { nonce, validAfterSeconds })
    expect((await call('/pulse/BTC', second)).status).toBe(409)
    expect(await spent(buyer)).toBe(PRICE)
  })

  test('that another service settled first buys nothing here, and is not asked for again', async () => {
    const buyer = await fundedBuyer()
    const payload = await sign(buyer)
    const other = await startPaidHost({
      payTo: chain.accounts.merchant.address,
      facilitator,
      clock: systemClock,
    })
    const payment = encodedPayment(payload)
    await fetch(`${other.url}/pulse/BTC`, { headers: { 'x-payment': payment } })
    await other.close()
    expect(await spent(buyer)).toBe(PRICE)
    const { status, text } = await call('/pulse/BTC', payment)
    expect(status, 'a 402 would have it pay again').toBe(409)
    expect(JSON.parse(text)).toMatchObject({ code: 'payment_replayed', charged: null })
    expect(await spent(buyer)).toBe(PRICE)
  })
})

test('30 different concurrent payments all settle', async () => {
  const buyers = await Promise.all(Array.from({ length: 30 }, fundedBuyer))
  const merchantBefore = await chain.balanceOf(chain.accounts.merchant.address)
  const answers = await Promise.all(
    buyers.map(async (buyer) => call('/pulse/BTC', await paymentOf(buyer))),
  )
  expect(answers.map(({ status }) => status)).toEqual(buyers.map(() => 200))
  expect(await Promise.all(buyers.map(spent))).toEqual(buyers.map(() => PRICE))
  expect(await chain.balanceOf(chain.accounts.merchant.address)).toBe(merchantBefore + 30n * PRICE)
})

describe('a paid handler never runs for free', () => {
  test.each([
    'GET /pulse/BTC HTTP/1.1',
    'GET http://evil.example/pulse/BTC HTTP/1.1',
    'GET HTTP://evil.example:80/pulse/BTC?x=1 HTTP/1.1',
    'GET /%70ulse/BTC HTTP/1.1',
    'GET /pulse/%42%54%43 HTTP/1.1',
    'GET //pulse/BTC HTTP/1.1',
    'GET /PULSE/BTC HTTP/1.1',
    'GET /pulse/BTC/ HTTP/1.1',
    'GET /pulse/BTC;v=1 HTTP/1.1',
    'GET /pulse/BTC?x402=free#top HTTP/1.1',
    'GET /./pulse/BTC HTTP/1.1',
    'HEAD /pulse/BTC HTTP/1.1',
    'POST /pulse/BTC HTTP/1.1',
    'OPTIONS /pulse/BTC HTTP/1.1',
  ])('for %s', async (requestLine) => {
    const runsBefore = host.runs()
    expect(await rawRequest(requestLine)).toMatch(/^HTTP\/1\.1 (402|400|404|405) /)
    expect(host.runs()).toBe(runsBefore)
  })

  test('for HEAD, which shows the quote without a body, even with a payment', async () => {
    const buyer = await fundedBuyer()
    const runsBefore = host.runs()
    const response = await fetch(`${host.url}/pulse/BTC`, {
      method: 'HEAD',
      headers: { 'x-payment': await paymentOf(buyer) },
    })
    expect(response.status).toBe(402)
    expect(response.headers.get('payment-required')).not.toBeNull()
    expect(await response.text()).toBe('')
    expect(host.runs()).toBe(runsBefore)
    expect(await spent(buyer)).toBe(0n)
  })
})

describe('a malformed payment ends in 400', () => {
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  test.each([
    ['no base64', '{}'],
    ['no JSON', base64('{')],
    ['no object', base64('[1]')],
    ['an empty object', base64('{}')],
    ['an unknown version', base64('{"x402Version":3,"payload":{}}')],
    ['more than 8 KB', base64(JSON.stringify({ x402Version: 2, pad: 'x'.repeat(9_000) }))],
  ])('%s', async (_what, payment) => {
    const { status, headers, text } = await call('/pulse/BTC', payment, 'x-payment')
    expect(status).toBe(400)
    expect(headers.get('content-type')).toMatch(/^application\/problem\+json/)
    expect(JSON.parse(text)).toMatchObject({ code: 'malformed_payment', charged: false })
  })

  test('two different payment headers', async () => {
    const buyer = await fundedBuyer()
    const response = await fetch(`${host.url}/pulse/BTC`, {
      headers: { 'x-payment': await paymentOf(buyer), 'payment-signature': await paymentOf(buyer) },
    })
    expect(response.status).toBe(400)
    expect(await spent(buyer)).toBe(0n)
  })

  test('a repeated payment header', async () => {
    const payment = await paymentOf(newBuyer())
    const raw = await rawRequest('GET /pulse/BTC HTTP/1.1', 'localhost', [
      `X-PAYMENT: ${payment}`,
      `X-PAYMENT: ${payment}`,
    ])
    expect(raw).toMatch(/^HTTP\/1\.1 400 /)
  })
})

describe('an invalid payment ends in 402 and names the field', () => {
  const nowSeconds = () => BigInt(Math.floor(systemClock.nowMs() / 1_000))
  const wrongs: readonly (readonly [string, () => Partial<PaymentChoices>, string])[] = [
    ['one atom too little', () => ({ amount: PRICE - 1n }), 'accepted.amount'],
    ['one atom too much', () => ({ amount: PRICE + 1n }), 'accepted.amount'],
    [
      'one atom too little in version 1',
      () => ({ amount: PRICE - 1n, version: 1 }),
      'authorization.value',
    ],
    [
      'one atom too much in version 1',
      () => ({ amount: PRICE + 1n, version: 1 }),
      'authorization.value',
    ],
    ['another payee', () => ({ payTo: STRANGER }), 'accepted.payTo'],
    ['another payee in version 1', () => ({ payTo: STRANGER, version: 1 }), 'authorization.to'],
    ['another asset', () => ({ claimedAsset: STRANGER }), 'accepted.asset'],
    ['another network', () => ({ network: baseSepolia }), 'network'],
    ['another network in version 1', () => ({ network: baseSepolia, version: 1 }), 'network'],
    ['another scheme', () => ({ scheme: 'upto' }), 'scheme'],
    [
      'an expired authorization',
      () => ({ validBeforeSeconds: nowSeconds() - 1n }),
      'authorization.validBefore',
    ],
    [
      'an authorization too close to its end',
      () => ({ validBeforeSeconds: nowSeconds() + 3n }),
      'authorization.validBefore',
    ],
    [
      'an authorization without end',
      () => ({ validBeforeSeconds: 2n ** 256n - 1n }),
      'authorization.validBefore',
    ],
    [
      'an authorization of the future',
      () => ({ validAfterSeconds: nowSeconds() + 60n }),
      'authorization.validAfter',
    ],
    [
      'the domain of another chain',
      () => ({ network: { ...base, chainId: 1 } }),
      'authorization.from',
    ],
  ]

  test.each(wrongs)('%s', async (_what, choices, field) => {
    const buyer = await fundedBuyer()
    const runsBefore = host.runs()
    const payload = await sign(buyer, choices())
    const { status, headers, text } = await call('/pulse/BTC', encodedPayment(payload))
    expect(status).toBe(402)
    expect(headers.get('payment-required')).not.toBeNull()
    expect(JSON.parse(text)).toMatchObject({
      x402Version: 1,
      error: 'payment_invalid',
      diagnostics: { field, reason: expect.any(String), hint: expect.any(String) },
    })
    expect(text, 'never the signature').not.toContain(payload.payload.signature.slice(2))
    expect(host.runs()).toBe(runsBefore)
    expect(await spent(buyer)).toBe(0n)
  })

  test('the signature of another key', async () => {
    const buyer = await fundedBuyer()
    const payload = await sign(buyer)
    const victim = newBuyer().address
    payload.payload.authorization.from = victim
    const { status, text } = await call('/pulse/BTC', encodedPayment(payload))
    expect(status).toBe(402)
    expect(JSON.parse(text).diagnostics).toMatchObject({
      reason: 'invalid_exact_evm_payload_signature',
      expected: victim,
    })
  })

  test('the price of a cheaper route', async () => {
    const buyer = await fundedBuyer()
    const { status, text } = await call('/bundle/BTC', await paymentOf(buyer))
    expect(status).toBe(402)
    expect(JSON.parse(text).diagnostics).toMatchObject({ expected: String(DEARER_PRICE) })
  })
})

describe('limits', () => {
  const limited = (limits: Parameters<typeof startPaidHost>[0]['limits'], quotesPerMinute = 100) =>
    startPaidHost({
      payTo: chain.accounts.merchant.address,
      facilitator,
      clock: systemClock,
      limits,
      quotesPerMinute,
    })
  const get = (url: string, payment?: string) =>
    fetch(url, { headers: payment === undefined ? {} : { 'x-payment': payment } })

  test('quotes by address, with the headers that say so', async () => {
    const small = await limited({}, 2)
    const responses = [
      await get(`${small.url}/pulse/BTC`),
      await get(`${small.url}/pulse/BTC`),
      await get(`${small.url}/pulse/BTC`),
    ]
    expect(responses.map(({ status }) => status)).toEqual([402, 402, 429])
    expect(responses[0]?.headers.get('ratelimit-policy')).toBe('"ip";q=2;w=60')
    expect(responses[0]?.headers.get('ratelimit')).toMatch(/^"ip";r=1;t=\d+$/)
    const problem = JSON.parse((await responses[2]?.text()) ?? '')
    expect(problem).toMatchObject({ code: 'rate_limited', charged: false, payment_reusable: true })
    expect(responses[2]?.headers.get('retry-after')).toBe(String(problem.retry_after))
    await small.close()
  })

  test('paid calls by wallet, but not the repetition of a paid one', async () => {
    const small = await limited({ paidCallsPerWalletPerMinute: 1 })
    const buyer = await fundedBuyer()
    const [first, second] = [await paymentOf(buyer), await paymentOf(buyer)]
    expect((await get(`${small.url}/pulse/BTC`, first)).status).toBe(200)
    expect((await get(`${small.url}/pulse/BTC`, second)).status).toBe(429)
    expect((await get(`${small.url}/pulse/BTC`, first)).status).toBe(200)
    expect(await spent(buyer)).toBe(PRICE)
    await small.close()
  })

  test('failed payments by address, then new payers there, but no known buyer', async () => {
    const small = await limited({ failedPaymentsPerAddressPerMinute: 2 })
    const url = `${small.url}/pulse/BTC`
    const [known, unknown] = [await fundedBuyer(), await fundedBuyer()]
    expect((await get(url, await paymentOf(known))).status).toBe(200)
    expect((await get(url, 'garbage')).status).toBe(400)
    const wrong = () => paymentOf(known, { amount: 1n })
    expect((await get(url, await wrong())).status).toBe(402)
    const stopped = await get(url, await wrong())
    expect(stopped.status).toBe(429)
    expect(await stopped.json()).toMatchObject({ charged: false, payment_reusable: false })
    const turnedAway = await get(url, await paymentOf(unknown))
    expect(turnedAway.status).toBe(429)
    expect(Number(turnedAway.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await turnedAway.json()).toMatchObject({ charged: false, payment_reusable: true })
    expect((await get(url, await paymentOf(known))).status).toBe(200)
    expect([await spent(known), await spent(unknown)]).toEqual([2n * PRICE, 0n])
    await small.close()
  })

  test('sales by wallet, without sales that failed through our fault', async () => {
    const small = await limited({ paidCallsPerWalletPerMinute: 1 })
    const buyer = await fundedBuyer()
    for (const path of ['/throws', '/status/503']) {
      expect((await get(small.url + path, await paymentOf(buyer))).status).toBeGreaterThanOrEqual(
        500,
      )
    }
    const url = `${small.url}/pulse/BTC`
    expect((await get(url, await paymentOf(buyer))).status).toBe(200)
    expect((await get(url, await paymentOf(buyer))).status).toBe(429)
    await small.close()
  })
})

/** One request as written, over a socket, because `fetch` would normalise the target. */
function rawRequest(
  requestLine: string,
  hostHeader = 'localhost',
  headers: readonly string[] = [],
): Promise<string> {
  return new Promise((resolve, reject) => {
    const { port, hostname } = new URL(host.url)
    const socket = connect(Number(port), hostname)
    let text = ''
    socket.setEncoding('utf8')
    socket.on('data', (chunk: string) => {
      text += chunk
    })
    socket.on('end', () => resolve(text))
    socket.on('error', reject)
    const lines = [requestLine, `Host: ${hostHeader}`, 'Connection: close', ...headers, '', '']
    socket.write(lines.join('\r\n'))
  })
}
