import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import {
  decodePaymentRequiredHeader,
  decodePaymentResponseHeader,
  encodePaymentSignatureHeader,
} from '@x402/core/http'
import type { PaymentPayload, PaymentRequired, SettleResponse } from '@x402/core/types'
import { registerExactEvmScheme } from '@x402/evm/exact/client'
import type { EIP712SignedOffer, EIP712SignedReceipt } from '@x402/extensions/offer-receipt'
import {
  decodeSignedOffers,
  extractOffersFromPaymentRequired,
  extractReceiptFromResponse,
  findAcceptsObjectFromSignedOffer,
  verifyOfferSignatureEIP712,
  verifyReceiptMatchesOffer,
  verifyReceiptSignatureEIP712,
} from '@x402/extensions/offer-receipt'
import {
  appendPaymentIdentifierToExtensions,
  generatePaymentId,
} from '@x402/extensions/payment-identifier'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { sha256 } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { generatePrivateKey } from 'viem/accounts'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { GatewayFixture } from '../src/api/testing/gateway-fixture.ts'
import { gatewayFixture } from '../src/api/testing/gateway-fixture.ts'
import type { PulseLikeOptions } from '../src/api/testing/pulse-like.ts'
import { pulseLikeDocument } from '../src/api/testing/pulse-like.ts'
import { exactEvm } from '../src/payment/evm/exact-evm.ts'
import { localFacilitator } from '../src/payment/evm/local-facilitator.ts'
import { base } from '../src/payment/evm/networks.ts'
import type { ReceiptInfo } from '../src/payment/extensions/offer-receipt.ts'
import { OfferReceipts } from '../src/payment/extensions/offer-receipt.ts'
import { SqliteLedger } from '../src/payment/ledger/sqlite-ledger.ts'
import type { Facilitator } from '../src/payment/payment.ts'
import type { PaymentOptions } from '../src/payment/plugin.ts'
import { payments } from '../src/payment/plugin.ts'
import { encodedPayment, newBuyer, signedPayload } from '../src/payment/testing/buyer.ts'
import { newSecret } from '../src/payment/testing/new-secret.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import type { EvmChain } from '../src/simulator/evm/evm-chain.ts'
import { startEvmChain } from '../src/simulator/evm/evm-chain.ts'
import { promptClock } from './support/prompt-clock.ts'
import { putUsdc } from './support/usdc-balance.ts'

const FUNDS = 1_000_000n
const PRICE = 25_000n
const PUBLIC_URL = 'https://api.example.com'

let chain: EvmChain
let method: PaymentOptions['methods'][number]
const cleanups: (() => Promise<unknown>)[] = []

beforeAll(async () => {
  chain = await startEvmChain({ clock: systemClock })
  const { privateKey } = chain.accounts.facilitator
  const { rpcUrl } = chain
  const facilitator = localFacilitator({ network: base, rpcUrl, privateKey, clock: promptClock })
  method = exactEvm({ network: base, payTo: chain.accounts.merchant.address, facilitator })
})
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})
afterAll(() => chain?.close())

type Shop = GatewayFixture & {
  readonly url: string
  /** The engine renders BTC again. */
  render(of?: Partial<PulseLikeOptions>): void
}

type ShopOptions = Partial<Pick<PaymentOptions, 'limits' | 'ledger' | 'receipts' | 'methods'>>

/** The whole gateway, with a controlled engine and a real chain. */
async function openShop(of: ShopOptions = {}): Promise<Shop> {
  const { ledger, methods = [method], ...options } = of
  const kept = ledger ?? new SqliteLedger(':memory:')
  if (ledger === undefined) cleanups.push(async () => kept.close())
  const receiptSigner = options.receipts?.signer
  const gateway: GatewayFixture = gatewayFixture({
    discovery: { publicUrl: PUBLIC_URL, waysToPay: methods, receiptSigner },
    payment: async (app) => {
      const { maintenance } = gateway
      const closure = { isClosed: () => maintenance.isOn, retryAfterSeconds: 3_600 }
      const core = { methods, ledger: kept, clock: systemClock }
      await app.register(payments, {
        ...core,
        ...options,
        publicUrl: PUBLIC_URL,
        newSecret,
        closure,
      })
    },
  })
  const url = await gateway.app.listen({ host: '127.0.0.1', port: 0 })
  cleanups.push(() => gateway.app.close())
  let version = 1
  const render = (of: Partial<PulseLikeOptions> = {}) => {
    version += 1
    const confirmedAtMs = gateway.clock.nowMs()
    const document = pulseLikeDocument({ coin: 'BTC', confirmedAtMs, version, ...of })
    gateway.deliver({ kind: 'documents', documents: [document] })
  }
  return { ...gateway, url, render }
}

async function fundedBuyer(): Promise<PrivateKeyAccount> {
  const buyer = newBuyer()
  await putUsdc(chain, buyer.address, FUNDS)
  return buyer
}

const spent = async (buyer: PrivateKeyAccount) => FUNDS - (await chain.balanceOf(buyer.address))
const clientOf = (signer: PrivateKeyAccount) => registerExactEvmScheme(new x402Client(), { signer })

async function quoteOf(url: string, headers: Record<string, string> = {}) {
  const response = await fetch(url, { headers })
  expect(response.status).toBe(402)
  const header = response.headers.get('payment-required') ?? ''
  return { response, header, required: decodePaymentRequiredHeader(header) }
}

/** The public client's payment for a quote; `edit` changes it as a buyer's program may. */
async function paymentFor(
  url: string,
  buyer: PrivateKeyAccount,
  edit: (extensions: Record<string, unknown>) => unknown = () => undefined,
): Promise<PaymentPayload> {
  const { required } = await quoteOf(url)
  edit(required.extensions ?? {})
  return clientOf(buyer).createPaymentPayload(required)
}

async function pay(url: string, payment: PaymentPayload, headers: Record<string, string> = {}) {
  const header = encodePaymentSignatureHeader(payment)
  const response = await fetch(url, { headers: { 'payment-signature': header, ...headers } })
  const text = await response.text()
  const problem = () => JSON.parse(text) as Record<string, unknown>
  return { status: response.status, headers: response.headers, text, problem }
}

function previewIn({ extensions = {} }: PaymentRequired): Record<string, unknown> {
  return (extensions['answer-preview'] as { info: Record<string, unknown> }).info
}

const named = (id: string) => (extensions: Record<string, unknown>) =>
  appendPaymentIdentifierToExtensions(extensions, id)

describe('the preview in a quote', () => {
  test('describes the answer that is sold', async () => {
    const shop = await openShop()
    const { required, response } = await quoteOf(`${shop.url}/pulse/BTC`)
    const info = previewIn(required)
    expect(Object.keys((await response.json()) as object)).toEqual([
      'x402Version',
      'error',
      'accepts',
    ])
    const buyer = await fundedBuyer()
    const answer = await wrapFetchWithPayment(fetch, clientOf(buyer))(`${shop.url}/pulse/BTC`)
    expect(answer.status).toBe(200)
    // Weak, because fetch requests a compressed answer.
    expect(answer.headers.get('etag')).toBe(`W/${info['etag']}`)
    const { meta } = (await answer.json()) as { meta: Record<string, unknown> }
    expect(meta['quality']).toMatchObject({
      grade: info['quality_grade'],
      coverage_pct: info['coverage'],
    })
    expect(await spent(buyer)).toBe(PRICE)
  })

  test('leaves the header below 4 KB, and is omitted for a very long call', async () => {
    const shop = await openShop()
    const { header } = await quoteOf(`${shop.url}/pulse/BTC?utm_x=${'x'.repeat(900)}`)
    expect(header.length).toBeLessThan(4_096)
    expect((await quoteOf(`${shop.url}/pulse/BTC`)).header.length).toBeLessThan(2_500)
  })

  test('follows the engine and the clock', async () => {
    const shop = await openShop()
    const infoNow = async () => {
      const { required } = await quoteOf(`${shop.url}/pulse/BTC`)
      return previewIn(required)
    }
    const first = await infoNow()
    expect(await infoNow()).toEqual(first)
    shop.clock.advance(3_000)
    expect(await infoNow()).toEqual({ ...first, data_age_seconds: 3 })
    shop.render({ coveragePct: 50 })
    expect(await infoNow()).toMatchObject({ quality_grade: 'C', coverage: 50, data_age_seconds: 0 })
  })

  test('of the placeholder equals that of the example', async () => {
    const shop = await openShop()
    const { required } = await quoteOf(`${shop.url}/pulse/{coin}`)
    expect(required.extensions).toHaveProperty('answer-preview')
  })
})

describe('an answer with a lower quality than quoted', () => {
  test('is not sold, and the same payment buys it without the echo', async () => {
    const shop = await openShop()
    const buyer = await fundedBuyer()
    const payment = await paymentFor(`${shop.url}/pulse/BTC`, buyer)
    shop.render({ coveragePct: 80 })
    const refused = await pay(`${shop.url}/pulse/BTC`, payment)
    expect(refused.status).toBe(503)
    expect(refused.problem()).toMatchObject({
      code: 'data_stale',
      charged: false,
      payment_reusable: true,
      quoted_grade: 'A',
      quality_grade: 'C',
      quoted_coverage: 100,
      coverage: 80,
      detail: expect.stringMatching(/below the quote/),
    })
    expect(refused.headers.get('retry-after')).toBe(String(refused.problem()['retry_after']))
    expect(await spent(buyer)).toBe(0n)
    const { extensions: _echo, ...plain } = payment
    expect((await pay(`${shop.url}/pulse/BTC`, plain as PaymentPayload)).status).toBe(200)
    expect(await spent(buyer)).toBe(PRICE)
  })

  test('is sold again once it is as good as quoted', async () => {
    const shop = await openShop()
    const buyer = await fundedBuyer()
    const payment = await paymentFor(`${shop.url}/pulse/BTC`, buyer)
    shop.render({ warnings: ['short_history'] })
    expect((await pay(`${shop.url}/pulse/BTC`, payment)).status).toBe(503)
    shop.render()
    expect((await pay(`${shop.url}/pulse/BTC`, payment)).status).toBe(200)
    expect(await spent(buyer)).toBe(PRICE)
  })

  test('is sold to whoever was quoted no better, or says nothing', async () => {
    const shop = await openShop()
    shop.render({ coveragePct: 80 })
    const buyer = await fundedBuyer()
    const payment = await paymentFor(`${shop.url}/pulse/BTC`, buyer)
    expect((await pay(`${shop.url}/pulse/BTC`, payment)).status).toBe(200)
    const amount = { amount: PRICE, payTo: chain.accounts.merchant.address }
    const v1 = { ...amount, nowMs: systemClock.nowMs(), version: 1 } as const
    const old = encodedPayment(await signedPayload(buyer, v1))
    const bought = await fetch(`${shop.url}/pulse/BTC`, { headers: { 'x-payment': old } })
    expect(bought.status).toBe(200)
  })
})

test('a payment that turns out to be refused is quoted anew, whatever the engine does', async () => {
  const facilitator: Facilitator = {
    verify: async () => ({ kind: 'valid' }),
    settle: async () => ({ kind: 'unknown', reason: 'reply lost', transaction: null }),
    outcome: async () => ({ kind: 'forfeited' }),
  }
  const payTo = chain.accounts.merchant.address
  const shop = await openShop({ methods: [exactEvm({ network: base, payTo, facilitator })] })
  const url = `${shop.url}/pulse/BTC`
  const payment = await paymentFor(url, newBuyer())
  expect((await pay(url, payment)).problem()['code']).toBe('settlement_unknown')
  const refused = await pay(url, payment)
  expect(refused.status).toBe(402)
  expect(JSON.parse(refused.text).diagnostics.reason).toMatch(/nonce/)
})

describe('reading a bought answer again', () => {
  test('is free: 304 while nothing newer is sold, then the same bytes', async () => {
    const shop = await openShop()
    const url = `${shop.url}/pulse/BTC`
    const buyer = await fundedBuyer()
    const payment = await paymentFor(url, buyer)
    const first = await pay(url, payment)
    const etag = first.headers.get('etag') ?? ''
    const again = await pay(url, payment, { 'if-none-match': etag })
    expect(again.status).toBe(304)
    expect(again.text).toBe('')
    expect(again.headers.get('etag')).toBe(etag)
    expect(again.headers.has('payment-response')).toBe(true)
    expect((await pay(url, payment)).text).toBe(first.text)
    expect((await pay(url, payment, { 'if-none-match': '"other"' })).text).toBe(first.text)

    shop.clock.advance(1_000)
    shop.render()
    const later = await pay(url, payment, { 'if-none-match': etag })
    expect([later.status, later.text, later.headers.get('etag')]).toEqual([200, first.text, etag])
    expect(await spent(buyer)).toBe(PRICE)
  })

  test('waits for the end of maintenance', async () => {
    const shop = await openShop()
    const url = `${shop.url}/pulse/BTC`
    const payment = await paymentFor(url, await fundedBuyer())
    const etag = (await pay(url, payment)).headers.get('etag') ?? ''
    shop.maintenance.set(true, shop.clock.nowMs())
    const kept = await pay(url, payment, { 'if-none-match': etag })
    expect(kept.problem()).toMatchObject({ code: 'maintenance', charged: true })
  })

  test('with a new payment is not charged either, while nothing is newer', async () => {
    const shop = await openShop()
    const url = `${shop.url}/pulse/BTC`
    const buyer = await fundedBuyer()
    const first = await pay(url, await paymentFor(url, buyer))
    const etag = first.headers.get('etag') ?? ''
    const second = await paymentFor(url, buyer)
    expect((await pay(url, second, { 'if-none-match': etag })).status).toBe(304)
    expect(await spent(buyer)).toBe(PRICE)
    shop.render()
    expect((await pay(url, second, { 'if-none-match': etag })).status).toBe(200)
    expect(await spent(buyer)).toBe(2n * PRICE)
  })

  test('is for nobody who has not paid', async () => {
    const shop = await openShop()
    const { response } = await quoteOf(`${shop.url}/pulse/BTC`, { 'if-none-match': '*' })
    expect(response.headers.get('etag')).toBeNull()
    const forged = await paymentFor(`${shop.url}/pulse/BTC`, newBuyer())
    const { signature } = forged.payload as { signature: string }
    const payload = {
      ...forged.payload,
      signature: signature.replace(/.$/, (c) => (c === 'b' ? 'c' : 'b')),
    }
    const refused = await pay(
      `${shop.url}/pulse/BTC`,
      { ...forged, payload },
      { 'if-none-match': '*' },
    )
    expect(refused.status).toBe(402)
  })
})

function contentHashIn(headers: Headers): unknown {
  const header = headers.get('payment-response') ?? ''
  return contentHashOf(decodePaymentResponseHeader(header).extensions)
}

function contentHashOf(extensions: Readonly<Record<string, unknown>> = {}): unknown {
  const { info } = extensions['offer-receipt'] as { readonly info: ReceiptInfo }
  return info.contentReceipt?.payload.contentHash
}

describe('our signatures', () => {
  const signing = () => new OfferReceipts({ key: generatePrivateKey(), clock: systemClock })

  test('are in the offer on request, and in the receipt of every sale', async () => {
    const receipts = signing()
    const shop = await openShop({ receipts })
    const buyer = await fundedBuyer()
    const seen: Response[] = []
    const watched: typeof fetch = async (input, init) => {
      const response = await fetch(input, init)
      seen.push(response)
      return response
    }
    const buy = wrapFetchWithPayment(watched, clientOf(buyer))
    const answer = await buy(`${shop.url}/pulse/BTC`, { headers: { prefer: 'signed-offer' } })
    expect(answer.status).toBe(200)

    expect(seen[0]?.headers.get('preference-applied')).toBe('signed-offer')
    const required = decodePaymentRequiredHeader(seen[0]?.headers.get('payment-required') ?? '')
    const [offer] = extractOffersFromPaymentRequired(required)
    const { signer } = await verifyOfferSignatureEIP712(offer as EIP712SignedOffer)
    expect(signer).toBe(receipts.signer)
    const manifest = (await (await fetch(`${shop.url}/.well-known/x402`)).json()) as object
    expect(manifest).toMatchObject({ receipt_signer: signer })
    const [decoded] = decodeSignedOffers(offer === undefined ? [] : [offer])
    if (decoded === undefined) throw new Error('no offer')
    expect(findAcceptsObjectFromSignedOffer(decoded, required.accepts)).toEqual(required.accepts[0])

    const receipt = extractReceiptFromResponse(answer) as EIP712SignedReceipt
    expect((await verifyReceiptSignatureEIP712(receipt)).signer).toBe(receipts.signer)
    expect(verifyReceiptMatchesOffer(receipt, decoded, [buyer.address])).toBe(true)
    expect(receipt.payload.transaction).toMatch(/^0x[0-9a-f]{64}$/)
  })

  test('are identical when the answer is sent again', async () => {
    const shop = await openShop({ receipts: signing() })
    const payment = await paymentFor(`${shop.url}/pulse/BTC`, await fundedBuyer())
    const copies = [
      await pay(`${shop.url}/pulse/BTC`, payment),
      await pay(`${shop.url}/pulse/BTC`, payment),
    ]
    const [one, two] = copies.map(({ headers }) => headers.get('payment-response'))
    expect(one).not.toBeNull()
    expect(two).toBe(one)
  })

  test('are over the bytes of the answer: when it is sent again, after compression, and by MCP', async () => {
    const receipts = signing()
    const shop = await openShop({ receipts })
    const path = `${shop.url}/pulse/BTC`
    const payment = await paymentFor(path, await fundedBuyer())
    const first = await pay(path, payment, { 'accept-encoding': 'identity' })
    const again = await pay(path, payment, { 'accept-encoding': 'br' })
    expect(again.text).toBe(first.text)
    expect(contentHashIn(again.headers)).toBe(contentHashIn(first.headers))
    expect(contentHashIn(first.headers)).toBe(sha256(Buffer.from(first.text)))
    const unchanged = await pay(path, payment, {
      'if-none-match': String(first.headers.get('etag')),
    })
    expect(unchanged.status).toBe(304)
    expect(contentHashIn(unchanged.headers), 'nothing was sent').toBeUndefined()

    const transport = new StreamableHTTPClientTransport(new URL(`${shop.url}/mcp`))
    const mcp = new Client({ name: 'test', version: '1' })
    await mcp.connect(transport)
    const call = { name: 'get_pulse', arguments: { coin: 'BTC' } }
    const quoted = await mcp.callTool(call)
    const mcpPayment = await clientOf(await fundedBuyer()).createPaymentPayload(
      quoted.structuredContent as PaymentRequired,
    )
    const bought = await mcp.callTool({ ...call, _meta: { 'x402/payment': mcpPayment } })
    await mcp.close()
    const [{ text }] = bought.content as unknown as [{ text: string }]
    const receipt = bought._meta?.['x402/payment-response'] as SettleResponse | undefined
    expect(contentHashOf(receipt?.extensions)).toBe(sha256(Buffer.from(text)))
  })

  test('are absent without a request or without a key', async () => {
    const signed = await openShop({ receipts: signing() })
    const unasked = await quoteOf(`${signed.url}/pulse/BTC`)
    expect(unasked.required.extensions).not.toHaveProperty('offer-receipt')
    const keyless = await openShop()
    const asked = await quoteOf(`${keyless.url}/pulse/BTC`, { prefer: 'signed-offer' })
    expect(asked.required.extensions).not.toHaveProperty('offer-receipt')
    expect(asked.response.headers.has('preference-applied')).toBe(false)
    const sold = await pay(
      `${keyless.url}/pulse/BTC`,
      await paymentFor(`${keyless.url}/pulse/BTC`, await fundedBuyer()),
    )
    expect(sold.headers.get('payment-response')).not.toBeNull()
    expect(extractReceiptFromResponse(new Response('', { headers: sold.headers }))).toBeUndefined()
  })
})

describe('a payment identifier', () => {
  test('does not block the same payment', async () => {
    const shop = await openShop()
    const url = `${shop.url}/pulse/BTC`
    const buyer = await fundedBuyer()
    const payment = await paymentFor(url, buyer, named(generatePaymentId()))
    const copies = await Promise.all([pay(url, payment), pay(url, payment)])
    expect(copies.map(({ status }) => status)).toEqual([200, 200])
    expect(new Set(copies.map(({ text }) => text)).size).toBe(1)
    expect((await pay(url, payment)).text).toBe(copies[0]?.text)
    expect(await spent(buyer)).toBe(PRICE)
  })

  test.each(['pulse/BTC', 'pulse/kPEPE', 'liquidations/BTC'])(
    'of one purchase refuses another payment of the same payer for /%s, also after a new start',
    async (path) => {
      const ledger = new SqliteLedger(':memory:')
      cleanups.push(async () => ledger.close())
      const shop = await openShop({ ledger })
      const buyer = await fundedBuyer()
      const id = generatePaymentId()
      const url = `${shop.url}/pulse/BTC`
      expect((await pay(url, await paymentFor(url, buyer, named(id)))).status).toBe(200)
      const started = await openShop({ ledger })
      for (const { url: origin } of [shop, started]) {
        const other = `${origin}/${path}`
        const refused = await pay(other, await paymentFor(other, buyer, named(id)))
        expect(refused.status).toBe(409)
        expect(refused.problem()).toMatchObject({
          code: 'payment_replayed',
          charged: false,
          param: 'extensions.payment-identifier.info.id',
        })
      }
      expect(await spent(buyer)).toBe(PRICE)
    },
  )

  test('accepts one of two concurrent payments', async () => {
    const shop = await openShop()
    const url = `${shop.url}/pulse/BTC`
    const buyer = await fundedBuyer()
    const id = generatePaymentId()
    const two = [await paymentFor(url, buyer, named(id)), await paymentFor(url, buyer, named(id))]
    const statuses = (await Promise.all(two.map((one) => pay(url, one)))).map(
      ({ status }) => status,
    )
    expect(statuses.sort()).toEqual([200, 409])
    expect(await spent(buyer)).toBe(PRICE)
  })

  test('can be reused if nothing was sold for it', async () => {
    const shop = await openShop()
    const url = `${shop.url}/pulse/BTC`
    const buyer = await fundedBuyer()
    const id = generatePaymentId()
    const unlucky = await paymentFor(url, buyer, named(id))
    shop.render({ coveragePct: 10 })
    expect((await pay(url, unlucky)).status).toBe(503)
    expect((await pay(url, await paymentFor(url, buyer, named(id)))).status).toBe(200)
    expect(await spent(buyer)).toBe(PRICE)
  })

  test('of one payer does not affect another', async () => {
    const shop = await openShop()
    const url = `${shop.url}/pulse/BTC`
    const id = generatePaymentId()
    for (const buyer of [await fundedBuyer(), await fundedBuyer()]) {
      expect((await pay(url, await paymentFor(url, buyer, named(id)))).status).toBe(200)
    }
  })

  test('that is known opens nothing without a payment', async () => {
    const shop = await openShop()
    const buyer = await fundedBuyer()
    const payment = await paymentFor(`${shop.url}/pulse/BTC`, buyer, named(generatePaymentId()))
    expect((await pay(`${shop.url}/pulse/BTC`, payment)).status).toBe(200)
    const { authorization } = payment.payload as { authorization: { nonce: string } }
    const forged = {
      ...payment,
      payload: {
        ...payment.payload,
        authorization: { ...authorization, nonce: `0x${'ab'.repeat(32)}` },
      },
    }
    for (const path of ['pulse/BTC', 'liquidations/BTC']) {
      const { status, text } = await pay(`${shop.url}/${path}`, forged)
      expect(status).toBe(402)
      expect(text).not.toContain('"meta"')
    }
  })

  test('that is invalid is refused with the reason', async () => {
    const shop = await openShop()
    const url = `${shop.url}/pulse/BTC`
    const payment = await paymentFor(url, await fundedBuyer(), (extensions) => {
      extensions['payment-identifier'] = { info: { required: false, id: 'short' } }
    })
    const refused = await pay(url, payment)
    expect(refused.status).toBe(400)
    expect(refused.problem()).toMatchObject({ code: 'malformed_payment', charged: false })
  })
})

describe('a payment that fails repeatedly', () => {
  const wrong = (buyer: PrivateKeyAccount, amount = 1n) =>
    signedPayload(buyer, {
      amount,
      payTo: chain.accounts.merchant.address,
      nowMs: systemClock.nowMs(),
    }) as Promise<unknown> as Promise<PaymentPayload>

  test('in the same way is stopped with 429 and told why; a right one is taken at once', async () => {
    const shop = await openShop()
    const url = `${shop.url}/pulse/BTC`
    const buyer = await fundedBuyer()
    for (let time = 1; time <= 5; time += 1) {
      const refused = await pay(url, await wrong(buyer))
      expect(refused.status).toBe(402)
      const { diagnostics } = JSON.parse(refused.text)
      expect(Object.keys(diagnostics)).toEqual([
        ...['reason', 'field', 'expected', 'received', 'hint', 'charged'],
      ])
      expect(/The same failure occurred/.test(diagnostics.hint)).toBe(time >= 3)
    }
    const stopped = await pay(url, await wrong(buyer))
    expect(stopped.status).toBe(429)
    expect(stopped.problem()).toMatchObject({ code: 'rate_limited', charged: false })
    expect(stopped.problem()['reason']).toEqual(expect.any(String))
    expect(Number(stopped.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(stopped.headers.get('ratelimit-policy')).toBe('"identical-failures";q=5;w=60')
    expect((await pay(url, await wrong(newBuyer()))).status, 'another wallet').toBe(402)
    expect((await pay(url, await paymentFor(url, buyer))).status).toBe(200)
  })

  test('bars nobody at the same address who has bought before', async () => {
    const shop = await openShop({ limits: { failedPaymentsPerAddressPerMinute: 2 } })
    const url = `${shop.url}/pulse/BTC`
    const buyers = await Promise.all([1, 2, 3].map(fundedBuyer))
    const bought = () =>
      Promise.all(
        buyers.map(async (buyer) => (await pay(url, await paymentFor(url, buyer))).status),
      )
    expect(await bought()).toEqual([200, 200, 200])
    for (const expected of [402, 402, 429, 429]) {
      expect((await pay(url, await wrong(newBuyer()))).status).toBe(expected)
    }
    expect(await bought()).toEqual([200, 200, 200])
  })

  test('because the wallet is empty is stopped before the chain is asked again', async () => {
    const shop = await openShop()
    const url = `${shop.url}/pulse/BTC`
    const poor = newBuyer()
    for (let time = 1; time <= 5; time += 1) {
      const refused = await pay(url, await paymentFor(url, poor))
      expect(refused.status).toBe(402)
      expect(JSON.parse(refused.text).diagnostics.reason).toMatch(/insufficient/)
    }
    const stopped = await pay(url, await paymentFor(url, poor))
    expect(stopped.status).toBe(429)
    expect(stopped.headers.get('ratelimit-policy')).toBe('"refused-payments";q=5;w=60')
    expect(stopped.problem()).toMatchObject({ charged: false, payment_reusable: true })
    const rich = await fundedBuyer()
    expect((await pay(url, await paymentFor(url, rich))).status).toBe(200)
  })

  test('is never shown its signature', async () => {
    const shop = await openShop()
    const url = `${shop.url}/pulse/BTC`
    const buyer = newBuyer()
    const right = await paymentFor(url, buyer)
    const { signature } = right.payload as { signature: string }
    const accepted = (change: Record<string, string>) => ({
      ...right,
      accepted: { ...right.accepted, ...change },
    })
    const payments: unknown[] = [
      right,
      await wrong(buyer),
      accepted({ asset: signature }),
      accepted({ amount: signature }),
      accepted({ scheme: signature }),
      accepted({ network: signature }),
      { ...right, payload: { ...right.payload, signature: `${signature}00` } },
      { ...right, payload: { ...right.payload, signature: signature.slice(0, -2) } },
    ]
    for (const payment of payments) {
      const { status, text, headers } = await pay(url, payment as PaymentPayload)
      expect(status).toBeGreaterThanOrEqual(400)
      const told = text + Buffer.from(headers.get('payment-required') ?? '', 'base64').toString()
      expect(told).not.toContain(signature.slice(2, 130))
    }
  })
})
