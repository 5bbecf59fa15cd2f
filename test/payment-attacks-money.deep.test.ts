import { wrapAxiosWithPayment, x402Client as X402AxiosClient } from '@x402/axios'
import { isPaymentRequiredV1, isPaymentRequiredV2 } from '@x402/core/schemas'
import { ExactEvmScheme } from '@x402/evm'
import { registerExactEvmScheme } from '@x402/evm/exact/client'
import { ExactEvmSchemeV1 } from '@x402/evm/exact/v1/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import axios from 'axios'
import Fastify from 'fastify'
import { createTestClient, http, publicActions } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { base as baseChain } from 'viem/chains'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { contracts } from '../src/compute/analyses/registry.ts'
import { exactEvm } from '../src/payment/evm/exact-evm.ts'
import { localFacilitator } from '../src/payment/evm/local-facilitator.ts'
import { base } from '../src/payment/evm/networks.ts'
import { termsOf } from '../src/payment/terms.ts'
import { encodedPayment, newBuyer, signedPayload } from '../src/payment/testing/buyer.ts'
import { newSecret } from '../src/payment/testing/new-secret.ts'
import { PRICE } from '../src/payment/testing/paid-host.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import type { Gateway, Ground } from './support/attacked.ts'
import { PULSE_PRICE, SOLD, startGround } from './support/attacked.ts'
import { legacyFetch } from './support/legacy-buyer.ts'

let ground: Ground
let gateway: Gateway

beforeAll(async () => {
  ground = await startGround()
  gateway = await ground.gateway()
})

afterAll(() => ground?.close())

const merchantBalance = () => ground.chain.balanceOf(ground.chain.accounts.merchant.address)
const clientOf = (signer: PrivateKeyAccount) => registerExactEvmScheme(new x402Client(), { signer })
/** Uses the older core that this package depends on. */
const axiosClientOf = (signer: PrivateKeyAccount) =>
  new X402AxiosClient()
    .register('eip155:8453', new ExactEvmScheme(signer))
    .registerV1('base', new ExactEvmSchemeV1(signer))

async function call(payment: string, url = `${gateway.url}/pulse/BTC`) {
  const response = await fetch(url, { headers: { 'x-payment': payment } })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

describe('a public client pays exactly the price', () => {
  type Client = (buyer: PrivateKeyAccount, url: string) => Promise<{ status: number; text: string }>
  const read = async (response: Response) => ({
    status: response.status,
    text: await response.text(),
  })
  const clients: readonly (readonly [string, Client])[] = [
    [
      '@x402/fetch, version 2',
      async (buyer, url) => read(await wrapFetchWithPayment(fetch, clientOf(buyer))(url)),
    ],
    [
      '@x402/fetch that sees version 1 alone',
      async (buyer, url) => read(await wrapFetchWithPayment(withoutVersion2, clientOf(buyer))(url)),
    ],
    [
      '@x402/axios 2.11.0, version 2',
      async (buyer, url) => {
        const pay = wrapAxiosWithPayment(axios.create(), axiosClientOf(buyer))
        const { status, data } = await pay.get(url, { responseType: 'text' })
        return { status, text: data }
      },
    ],
    [
      '@x402/axios 2.11.0 that sees version 1 alone',
      async (buyer, url) => {
        const instance = axios.create()
        instance.interceptors.response.use(undefined, (error) => {
          delete error.response?.headers['payment-required']
          return Promise.reject(error)
        })
        const { status, data } = await wrapAxiosWithPayment(instance, axiosClientOf(buyer)).get(url)
        return { status, text: JSON.stringify(data) }
      },
    ],
    [
      'the old x402-fetch 1.2.0',
      async (buyer, url) => read(await legacyFetch(buyer, systemClock.nowMs)(url)),
    ],
  ]

  test.each(clients)('%s', async (_name, pay) => {
    const buyer = await ground.fundedBuyer()
    const before = await merchantBalance()
    const { status, text } = await pay(buyer, `${gateway.url}/pulse/BTC`)
    expect([status, text]).toEqual([200, expect.stringContaining(SOLD)])
    expect(await ground.spent(buyer)).toBe(PULSE_PRICE)
    expect((await merchantBalance()) - before).toBe(PULSE_PRICE)
  })

  test('the old x402-fetch reads its receipt, in its own words', async () => {
    const buyer = await ground.fundedBuyer()
    const { headers } = await legacyFetch(buyer, systemClock.nowMs)(`${gateway.url}/pulse/BTC`)
    const receipt = Buffer.from(headers.get('x-payment-response') ?? '', 'base64').toString()
    expect(JSON.parse(receipt)).toMatchObject({
      success: true,
      transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      network: 'base',
      payer: buyer.address,
    })
  })

  test('50 of them at once, each from a wallet of its own', async () => {
    const buyers = await Promise.all(Array.from({ length: 50 }, () => ground.fundedBuyer()))
    const before = await merchantBalance()
    const answers = await Promise.all(
      buyers.map(async (buyer) => call(await ground.paymentOf(buyer))),
    )
    expect(answers.map(({ status }) => status)).toEqual(buyers.map(() => 200))
    const receipts = answers.map(({ headers }) => headers.get('payment-response'))
    expect(new Set(receipts).size, 'each has its own').toBe(50)
    expect(await Promise.all(buyers.map(ground.spent))).toEqual(buyers.map(() => PULSE_PRICE))
    expect((await merchantBalance()) - before).toBe(50n * PULSE_PRICE)
  })
})

const PAYEE = '0x00000000000000000000000000000000000000A1'

describe('a price', () => {
  const unasked = () => Promise.reject(new Error('a quote needs no facilitator'))
  const facilitator = { verify: unasked, settle: unasked, outcome: unasked }
  const methods = [exactEvm({ network: base, payTo: PAYEE, facilitator })]

  test.each(contracts.map((contract) => ({ contract, id: contract.id })))(
    'of /$id is a whole number of millionths in both versions, below what clients pay unasked',
    ({ contract: { priceUsdcAtomic, summary } }) => {
      const terms = termsOf({ priceUsdcAtomic, description: summary }, methods)
      const { headers, body } = terms.quote({
        resourceUrl: 'https://api.example.com/x',
        secret: newSecret(),
      })
      const header = Buffer.from(headers['payment-required'] ?? '', 'base64')
      const [v1, v2] = [JSON.parse(body.toString()), JSON.parse(header.toString())]
      expect([isPaymentRequiredV1(v1), isPaymentRequiredV2(v2)]).toEqual([true, true])
      const amounts = [v1.accepts[0].maxAmountRequired, v2.accepts[0].amount]
      expect(amounts).toEqual([String(priceUsdcAtomic), String(priceUsdcAtomic)])
      expect(amounts[0]).toMatch(/^[1-9]\d*$/)
      // The default maximum is 10 cents in the old client, a dollar in the new ones.
      expect(priceUsdcAtomic).toBeLessThanOrEqual(100_000n)
    },
  )
})

describe('a number in disguise is no payment', () => {
  const disguises: readonly unknown[] = [
    25_000,
    25_000.5,
    ['25000'],
    { value: '25000' },
    true,
    null,
    '0x61a8',
    '2.5e4',
    '25000.0',
    '25_000',
    '25,000',
    '+25000',
    '-25000',
    ' 25000',
    '25000\n',
    '25000n',
    '２５０００',
    '٢٥٠٠٠',
    'NaN',
    'Infinity',
    '',
    '9'.repeat(79),
    String(2n ** 256n),
  ]

  test.each(disguises)('%j', async (disguise) => {
    const buyer = await ground.fundedBuyer()
    const payTo = ground.chain.accounts.merchant.address
    const nowMs = systemClock.nowMs()
    const signed = await signedPayload(buyer, { amount: PULSE_PRICE, payTo, nowMs })
    for (const field of ['value', 'validAfter', 'validBefore']) {
      const authorization = { ...signed.payload.authorization, [field]: disguise }
      const payment = { ...signed, payload: { ...signed.payload, authorization } }
      const { status, text } = await call(encodedPayment(payment))
      expect([status, JSON.parse(text).code], field).toEqual([400, 'malformed_payment'])
    }
    expect(await ground.spent(buyer)).toBe(0n)
  })

  test.each(['0x61a8', '025000', '25000.0', '2.5e4', '25000 ', '２５０００', '', '0', '-25000'])(
    'nor %j as the accepted amount',
    async (amount) => {
      const buyer = await ground.fundedBuyer()
      const payTo = ground.chain.accounts.merchant.address
      const nowMs = systemClock.nowMs()
      const signed = await signedPayload(buyer, { amount: PULSE_PRICE, payTo, nowMs })
      const accepted = { ...signed.accepted, amount }
      const { status, text } = await call(encodedPayment({ ...signed, accepted }))
      expect([status, JSON.parse(text).diagnostics.field]).toEqual([402, 'accepted.amount'])
      expect(await ground.spent(buyer)).toBe(0n)
    },
  )
})

describe('what only looks like a payment is refused, and the service goes on', () => {
  const nest = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`
  const shapes: readonly (readonly [string, string])[] = [
    ['an array', '[{"x402Version":2}]'],
    ['a string', '"x402"'],
    ['a number', '2'],
    ['null', 'null'],
    ['true', 'true'],
    ['a version in words', '{"x402Version":"2","accepted":{},"payload":{}}'],
    ['a version in a list', '{"x402Version":[2],"accepted":{},"payload":{}}'],
    ['a version between two', '{"x402Version":1.5,"payload":{}}'],
    ['a version beyond numbers', '{"x402Version":1e999,"payload":{}}'],
    ['no payload', '{"x402Version":1,"scheme":"exact","network":"base"}'],
    [
      'a payload that is a list',
      '{"x402Version":1,"scheme":"exact","network":"base","payload":[]}',
    ],
    [
      'a scheme in a list',
      '{"x402Version":1,"scheme":["exact"],"network":"base","payload":{"signature":"0x"}}',
    ],
    [
      'an authorization that is a list',
      '{"x402Version":1,"scheme":"exact","network":"base","payload":{"authorization":[],"signature":"0x"}}',
    ],
    [
      'all of it in its prototype',
      '{"__proto__":{"x402Version":1,"scheme":"exact","network":"base","payload":{}}}',
    ],
    [
      'an authorization in its prototype',
      '{"x402Version":1,"scheme":"exact","network":"base","payload":{"__proto__":{"authorization":{},"signature":"0x"}}}',
    ],
    [
      'names of methods',
      '{"x402Version":1,"scheme":"constructor","network":"toString","payload":{"hasOwnProperty":1}}',
    ],
    ['3,000 lists in one another', nest(3_000)],
    ['lists in one another inside', `{"x402Version":1,"payload":{"a":${nest(2_900)}}}`],
    ['half a character', '{"x402Version":1,"scheme":"\\ud800","network":"base","payload":{}}'],
    [
      'a line break in a name',
      '{"x402Version":1,"scheme":"a\\r\\nX: y","network":"b","payload":{}}',
    ],
    ['a mark before it', '\ufeff{"x402Version":1}'],
    ['a comment', '{"x402Version":1/*free*/}'],
    ['two payments', '{"x402Version":1}{"x402Version":1}'],
  ]

  test.each(shapes)('%s', async (_what, json) => {
    const { status, headers, text } = await call(Buffer.from(json).toString('base64'))
    expect([400, 402]).toContain(status)
    expect(text).not.toContain(SOLD)
    expect(headers.get('x')).toBeNull()
    expect(Object.prototype).not.toHaveProperty('x402Version')
    expect((await fetch(`${gateway.url}/health`)).status).toBe(200)
  })

  test.each([
    ['of the URL alphabet', (payment: string) => `-_${payment}`],
    ['with a comma', (payment: string) => `${payment},`],
    ['with a quotation mark', (payment: string) => `"${payment}"`],
    ['in parentheses of a token', (payment: string) => `x402 ${payment}`],
    ['padded in its middle', (payment: string) => `e30=${payment}`],
    ['of 12,000 characters', (payment: string) => payment.padEnd(12_000, 'A')],
  ])('base64 %s', async (_what, garble) => {
    const buyer = await ground.fundedBuyer()
    const { status, text } = await call(garble(await ground.paymentOf(buyer)))
    expect([status, JSON.parse(text).code]).toEqual([400, 'malformed_payment'])
    expect(await ground.spent(buyer)).toBe(0n)
  })
})

describe('a forged payer', () => {
  const nobody = '0x0000000000000000000000000000000000000000'

  test.each([
    ['zeros', '0'.repeat(130)],
    ['zeros of version 27', `${'0'.repeat(128)}1b`],
    ['ones', 'f'.repeat(130)],
    ['no point of the curve', `${'0'.repeat(63)}5${'0'.repeat(63)}1${'1b'}`],
    ['an r beyond the order', `${'f'.repeat(64)}${'0'.repeat(63)}1${'1c'}`],
    ['an s of zero', `${'1'.repeat(64)}${'0'.repeat(64)}1b`],
  ])('that is nobody is not signed for by %s', async (_what, digits) => {
    let asked = 0
    const host = await ground.host({
      facilitator: {
        ...ground.facilitator,
        verify: (payment) => {
          asked += 1
          return ground.facilitator.verify(payment)
        },
      },
    })
    const payTo = ground.chain.accounts.merchant.address
    const nowMs = systemClock.nowMs()
    const signed = await signedPayload(newBuyer(), { amount: PRICE, payTo, nowMs })
    const authorization = { ...signed.payload.authorization, from: nobody }
    const payload = { authorization, signature: `0x${digits}` }
    const { status } = await call(encodedPayment({ ...signed, payload }), `${host.url}/pulse/BTC`)
    expect([400, 402]).toContain(status)
    expect([asked, host.runs()]).toEqual([0, 0])
  })

  test('does not use up the limit of the wallet that it names', async () => {
    const limits = { paidCallsPerWalletPerMinute: 2, failedPaymentsPerAddressPerMinute: 1_000 }
    const host = await ground.host({ limits })
    const victim = await ground.fundedBuyer()
    const own = await ground.paymentOf(victim, { amount: PRICE })
    expect((await call(own, `${host.url}/pulse/BTC`)).status).toBe(200)
    for (const signatureBytes of [65, 65, 65, 100, 700, 65, 65]) {
      const payTo = ground.chain.accounts.merchant.address
      const nowMs = systemClock.nowMs()
      const signed = await signedPayload(newBuyer(), { amount: PRICE, payTo, nowMs })
      const authorization = { ...signed.payload.authorization, from: victim.address }
      const signature = signed.payload.signature.padEnd(2 + 2 * signatureBytes, '0')
      const forged = encodedPayment({ ...signed, payload: { authorization, signature } })
      expect([400, 402, 429]).toContain((await call(forged, `${host.url}/pulse/BTC`)).status)
      // A stranger who intercepted it sends it elsewhere: it is used, by the victim.
      expect((await call(own, `${host.url}/pulse/ETH`)).status).toBe(409)
    }
    const next = await ground.paymentOf(victim, { amount: PRICE })
    expect((await call(next, `${host.url}/pulse/BTC`)).status).toBe(200)
  })
})

describe('a wallet that holds the price of one', () => {
  test('and signs twenty payments at once gets one answer', async () => {
    const host = await ground.host()
    const buyer = await ground.fundedBuyer(PRICE)
    const before = await merchantBalance()
    const answers = await Promise.all(
      Array.from({ length: 20 }, async () =>
        call(await ground.paymentOf(buyer, { amount: PRICE }), `${host.url}/pulse/BTC`),
      ),
    )
    const got = answers.filter(({ text }) => text.includes('"run"'))
    expect(got).toHaveLength(1)
    for (const { status } of answers) expect([200, 402, 429]).toContain(status)
    expect((await merchantBalance()) - before).toBe(PRICE)
    expect(await host.ledger.counts()).toMatchObject({ settled: 1, settling: 0, unknown: 0 })
  })
})

describe('a payer whose payments fail when they are settled', () => {
  test('cannot go on to have answers rendered for nothing', async () => {
    const limits = { paidCallsPerWalletPerMinute: 1_000, failedPaymentsPerAddressPerMinute: 5 }
    const host = await ground.host({
      limits,
      facilitator: {
        ...ground.facilitator,
        // As if the wallet were emptied between verification and settlement, every time.
        settle: async () => ({ kind: 'rejected', reason: 'insufficient_funds' }),
      },
    })
    const buyer = await ground.fundedBuyer()
    const statuses: number[] = []
    for (let tries = 0; tries < 15; tries += 1) {
      const payment = await ground.paymentOf(buyer, { amount: PRICE })
      statuses.push((await call(payment, `${host.url}/pulse/BTC`)).status)
    }
    expect(statuses).toContain(429)
    expect(host.runs()).toBeLessThan(15)
  })

  test('who is screened out by the facilitator is told so, and nothing is rendered', async () => {
    const host = await ground.host({
      facilitator: {
        ...ground.facilitator,
        verify: async () => ({ kind: 'invalid', reason: 'payer_address_is_blocked' }),
      },
    })
    const buyer = await ground.fundedBuyer()
    const payment = await ground.paymentOf(buyer, { amount: PRICE })
    const { status, text } = await call(payment, `${host.url}/pulse/BTC`)
    expect(status).toBe(402)
    expect(JSON.parse(text).diagnostics.reason).toBe('payer_address_is_blocked')
    expect(host.runs()).toBe(0)
  })
})

describe('the self-hosted facilitator', () => {
  test.each([
    ['price of gas', { eth_maxPriorityFeePerGas: '0xe8d4a51000', eth_gasPrice: '0xe8d4a51000' }],
    ['need of gas', { eth_estimateGas: '0x1c9c380' }],
  ])('does not believe a node that names an absurd %s', async (_what, lies) => {
    const { facilitator: gasAccount } = ground.chain.accounts
    const rpcUrl = await lyingNode(ground.chain.rpcUrl, lies)
    const facilitator = localFacilitator({
      network: base,
      rpcUrl,
      privateKey: gasAccount.privateKey,
      clock: systemClock,
    })
    const host = await ground.host({ facilitator })
    const node = createTestClient({
      mode: 'anvil',
      chain: baseChain,
      transport: http(ground.chain.rpcUrl),
    }).extend(publicActions)
    const before = await node.getBalance(gasAccount)
    const buyer = await ground.fundedBuyer()
    const payment = await ground.paymentOf(buyer, { amount: PRICE })
    await call(payment, `${host.url}/pulse/BTC`)
    const weiSpent = before - (await node.getBalance(gasAccount))
    // A transfer on Base costs some 0.00001 ETH; 1,000 gwei a unit of gas would make it 0.08.
    expect(weiSpent).toBeLessThan(10n ** 15n)
  })

  test('sees a block soon after it came', async () => {
    const node = createTestClient({
      mode: 'anvil',
      chain: baseChain,
      transport: http(ground.chain.rpcUrl),
    })
    const host = await ground.host()
    const buyer = await ground.fundedBuyer(PRICE)
    await node.setAutomine(false)
    onTestFinished(() => node.setAutomine(true))
    const answer = call(await ground.paymentOf(buyer, { amount: PRICE }), `${host.url}/pulse/BTC`)
    await expect.poll(async () => (await node.getTxpoolStatus()).pending).toBe(1)
    await node.mine({ blocks: 1 })
    expect((await answer).status).toBe(200)
  })
})

/** Responses as received by a client of protocol version 1. */
const withoutVersion2: typeof fetch = async (input, init) => {
  const response = await fetch(input, init)
  const headers = new Headers(response.headers)
  headers.delete('payment-required')
  return new Response(response.body, { status: response.status, headers })
}

/** A node with false replies to these methods and true ones to all others. @returns its URL */
async function lyingNode(rpcUrl: string, lies: Readonly<Record<string, string>>): Promise<string> {
  type Call = { readonly id: number; readonly method: string }
  const app = Fastify({ forceCloseConnections: true })
  const answer = async (body: Call) => {
    const lie = lies[body.method]
    if (lie !== undefined) return { jsonrpc: '2.0', id: body.id, result: lie }
    const headers = { 'content-type': 'application/json' }
    const truth = await fetch(rpcUrl, { method: 'POST', headers, body: JSON.stringify(body) })
    return truth.json()
  }
  app.post<{ Body: Call | Call[] }>('/', ({ body }) =>
    Array.isArray(body) ? Promise.all(body.map(answer)) : answer(body),
  )
  onTestFinished(() => app.close())
  return app.listen({ host: '127.0.0.1', port: 0 })
}
