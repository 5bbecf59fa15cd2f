import { describe, expect, test } from 'vitest'
import { exactEvm } from './evm/exact-evm.ts'
import type { PaymentNetwork } from './evm/networks.ts'
import { base, baseSepolia } from './evm/networks.ts'
import { rejection } from './rejection.ts'
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
const resource = 'https://api.example.com/pulse/BTC?timeframes=1h'
const decode = (header: string) => JSON.parse(Buffer.from(header, 'base64').toString())

describe('a quote', () => {
  test('says the same in both versions', () => {
    const { header, body } = termsOf(route, methods(base, baseSepolia)).quote(resource)
    const [v1, v2] = [JSON.parse(body), decode(header)]
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

  test('after a rejected payment adds why, beside the object of version 1', () => {
    const why = rejection('invalid_network', 'Pay on Base.')
    const { header, body } = termsOf(route, methods(base)).quote(resource, why)
    expect(JSON.parse(body)).toMatchObject({ error: 'payment_invalid', diagnostics: why })
    expect(decode(header)).toMatchObject({ error: 'invalid_network' })
  })

  test('names the parameters for catalogues in version 1', () => {
    const discovery = { queryParams: { timeframes: '15m, 1h or 4h' } }
    const { body } = termsOf({ ...route, discovery }, methods(base)).quote(resource)
    expect(JSON.parse(body).accepts[0].outputSchema.input).toEqual({
      type: 'http',
      method: 'GET',
      discoverable: true,
      ...discovery,
    })
  })

  test('stays under 4 KB as a header with the longest resource', () => {
    const description = 'd'.repeat(500)
    const terms = termsOf({ ...route, description }, methods(base, baseSepolia))
    expect(terms.quote('x'.repeat(RESOURCE_URL_CHARS_MAX)).header.length).toBeLessThan(4_096)
  })

  test.each([0n, -1n])('is not given for %s atoms', (priceUsdcAtomic) => {
    expect(() => termsOf({ ...route, priceUsdcAtomic }, methods(base))).toThrow(/above zero/)
  })
})
