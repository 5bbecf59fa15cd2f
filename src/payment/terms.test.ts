import { describe, expect, test } from 'vitest'
import type { BufferedResponse } from './buffered-response.ts'
import { exactEvm } from './evm/exact-evm.ts'
import type { PaymentNetwork } from './evm/networks.ts'
import { base, baseSepolia } from './evm/networks.ts'
import { chargeUnknown, facilitatorRejection, rejection } from './rejection.ts'
import { RESOURCE_URL_CHARS_MAX, termsOf } from './terms.ts'

const payTo = '0x00000000000000000000000000000000000000A1'
const unasked = () => Promise.reject(new Error('a quote asks nobody'))
const methods = (...networks: PaymentNetwork[]) =>
  networks.map((network) =>
    exactEvm({
      network,
      payTo,
      facilitator: { verify: unasked, settle: unasked, outcome: unasked },
    }),
  )
const route = { priceUsdcAtomic: 25_000n, description: 'Pulse of one coin, "fresh"' }
const secret = 'a'.repeat(22)
const access = { 'answer-access': { info: { secret }, schema: {} } }
const resource = 'https://api.example.com/pulse/BTC?timeframes=1h'
const decode = (header: string) => JSON.parse(Buffer.from(header, 'base64').toString())
const headerOf = (answer: BufferedResponse) => answer.headers['payment-required'] ?? ''
const bodyOf = (answer: BufferedResponse) => JSON.parse(answer.body.toString())

describe('a quote', () => {
  test('says the same in both versions', () => {
    const quote = termsOf(route, methods(base, baseSepolia)).quote({
      secret,
      resourceUrl: resource,
    })
    const [v1, v2] = [bodyOf(quote), decode(headerOf(quote))]
    expect(v2.resource).toMatchObject({ url: resource, description: route.description })
    expect(v1.accepts).toHaveLength(2)
    for (const [index, network] of [base, baseSepolia].entries()) {
      expect(v1.accepts[index]).toEqual({
        scheme: 'exact',
        network: network.legacyName,
        maxAmountRequired: '25000',
        resource,
        description: route.description,
        mimeType: 'application/json',
        payTo,
        maxTimeoutSeconds: v2.accepts[index].maxTimeoutSeconds,
        asset: v2.accepts[index].asset,
        extra: network.domain,
      })
      expect(v2.accepts[index]).toMatchObject({ network: network.network, amount: '25000', payTo })
    }
  })

  test('includes the current additions of a payment method to its terms', () => {
    let isSuspended = false
    const [keysOnly, nothing] = [{ contractWallets: false }, {}]
    const ways = methods(base).map((method) => ({
      ...method,
      extraNow: () => (isSuspended ? keysOnly : nothing),
    }))
    const terms = termsOf(route, ways)
    const extras = () => {
      const quote = terms.quote({ secret, resourceUrl: resource })
      return [bodyOf(quote), decode(headerOf(quote))].map(({ accepts }) => accepts[0].extra)
    }
    expect(extras()).toEqual([base.domain, base.domain])
    isSuspended = true
    expect(extras()).toEqual(Array(2).fill({ ...base.domain, contractWallets: false }))
    isSuspended = false
    expect(extras()).toEqual([base.domain, base.domain])
    const held = terms.quote({ secret, resourceUrl: resource })
    expect(terms.quote({ secret, resourceUrl: resource }).body).toBe(held.body)
  })

  test('after a rejected payment adds why, beside the object of version 1', () => {
    const rejected = rejection('invalid_network', 'Pay on Base.')
    const quote = termsOf(route, methods(base)).quote({ secret, resourceUrl: resource, rejected })
    expect(bodyOf(quote)).toMatchObject({
      error: 'payment_invalid',
      diagnostics: { ...rejected, charged: false },
    })
    expect(decode(headerOf(quote))).toMatchObject({ error: 'invalid_network' })
  })

  test.each([null, false] as const)('states charged: %s', (charged) => {
    const failed = facilitatorRejection('simulation_failed')
    const rejected = charged === null ? chargeUnknown(failed) : failed
    const quote = termsOf(route, methods(base)).quote({ secret, resourceUrl: resource, rejected })
    expect(bodyOf(quote).diagnostics).toMatchObject({ reason: 'simulation_failed', charged })
  })

  test('names the parameters for catalogues in version 1', () => {
    const discovery = { queryParams: { timeframes: '15m, 1h or 4h' } }
    const quote = termsOf({ ...route, discovery }, methods(base)).quote({
      secret,
      resourceUrl: resource,
    })
    expect(bodyOf(quote).accepts[0].outputSchema.input).toEqual({
      type: 'http',
      method: 'GET',
      discoverable: true,
      ...discovery,
    })
  })

  test('stays under 4 KB as a header with the longest resource, whatever the host adds', () => {
    const description = 'd'.repeat(500)
    const terms = termsOf({ ...route, description }, methods(base, baseSepolia))
    const resourceUrl = 'x'.repeat(RESOURCE_URL_CHARS_MAX)
    for (const length of [0, 100, 1_000, 10_000]) {
      const extensions = { preview: { info: 'p'.repeat(length) } }
      expect(headerOf(terms.quote({ secret, resourceUrl, extensions })).length).toBeLessThan(4_096)
    }
  })

  test("leaves out of the host's extensions those that it named last", () => {
    const extensions = { first: { info: 'f'.repeat(900) }, last: { info: 'l'.repeat(2_000) } }
    const quote = termsOf(route, methods(base)).quote({ secret, resourceUrl: resource, extensions })
    expect(Object.keys(decode(headerOf(quote)).extensions)).toEqual([
      'payment-identifier',
      'first',
      'answer-access',
    ])
  })

  test('declares the payment identifier and what the host says of its answer', () => {
    const extensions = { 'answer-preview': { info: { quality_grade: 'A' } } }
    const quote = termsOf(route, methods(base)).quote({ secret, resourceUrl: resource, extensions })
    expect(decode(headerOf(quote)).extensions).toEqual({
      'payment-identifier': { info: { required: false }, schema: {} },
      'answer-preview': { info: { quality_grade: 'A' }, schema: {} },
      ...access,
    })
    expect(Object.keys(bodyOf(quote))).toEqual(['x402Version', 'error', 'accepts'])
  })

  test('is written once until the host has something else to say', () => {
    const terms = termsOf(route, methods(base))
    const first = { preview: { info: 1 } }
    const quote = terms.quote({ secret, resourceUrl: resource, extensions: first })
    expect(terms.quote({ secret, resourceUrl: resource, extensions: first })).toEqual(quote)
    const next = terms.quote({
      secret,
      resourceUrl: resource,
      extensions: { preview: { info: 2 } },
    })
    expect(decode(headerOf(next)).extensions.preview.info).toBe(2)
    expect(next.body).toBe(quote.body)
    const other = terms.quote({ secret, resourceUrl: `${resource}&x=1`, extensions: first })
    expect(decode(headerOf(other)).resource.url).toBe(`${resource}&x=1`)
  })

  test('carries a secret that is in no other', () => {
    const terms = termsOf(route, methods(base))
    const secrets = ['b', 'c'].map((letter) => letter.repeat(22))
    const quoted = secrets.map((each) => terms.quote({ secret: each, resourceUrl: resource }))
    expect(quoted.map((quote) => decode(headerOf(quote)).extensions['answer-access'])).toEqual(
      secrets.map((each) => ({ info: { secret: each }, schema: {} })),
    )
  })

  test("that one caller is told is nobody else's", () => {
    const terms = termsOf(route, methods(base))
    const common = terms.quote({ secret, resourceUrl: resource })
    const rejected = rejection('invalid_network', 'Pay on Base.')
    terms.quote({ secret, resourceUrl: resource, rejected })
    terms.quote({ secret, resourceUrl: resource, offers: { ways: terms.requirements, signed: [] } })
    expect(terms.quote({ secret, resourceUrl: resource })).toEqual(common)
    expect(bodyOf(common)).not.toHaveProperty('diagnostics')
  })

  test.each([0n, -1n])('is not given for %s atoms', (priceUsdcAtomic) => {
    expect(() => termsOf({ ...route, priceUsdcAtomic }, methods(base))).toThrow(/above zero/)
  })
})
