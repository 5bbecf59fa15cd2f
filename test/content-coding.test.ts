import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { contracts } from '../src/compute/analyses/registry.ts'
import { pathOf } from '../src/domain/contract.ts'
import { encodedPayment, newBuyer, signedPayload } from '../src/payment/testing/buyer.ts'
import type { DiscoveryGateway, StandingMarket } from './support/discovery-gateway.ts'
import { discoveryGateway, PAY_TO, standingMarket } from './support/discovery-gateway.ts'

const DOCUMENTS = [
  ...['/openapi.json', '/openapi-full.json', '/llms.txt', '/llms-full.txt', '/pricing', '/'],
  ...['/.well-known/agent-card.json', '/.well-known/x402', '/sample/pulse', '/docs/errors'],
  ...['/docs/json', '/docs'],
]

let market: StandingMarket
let sold: DiscoveryGateway
let given: DiscoveryGateway

beforeAll(() => {
  market = standingMarket()
  sold = discoveryGateway(market, 'x402')
  given = discoveryGateway(market, 'open')
})

afterAll(async () => {
  await sold?.close()
  await given?.close()
})

const decoded = { br: brotliDecompressSync, gzip: gunzipSync }
const codings = ['br', 'gzip'] as const

function read({ app }: DiscoveryGateway, url: string, headers: Record<string, string> = {}) {
  return app.inject({ url, headers })
}

describe.each(codings)('a caller who accepts %s', (coding) => {
  const accepting = { 'accept-encoding': coding }

  test.each(DOCUMENTS)('gets %s in it, once', async (path) => {
    const plain = await read(sold, path)
    const coded = await read(sold, path, accepting)
    if (plain.rawPayload.length < 1_400) {
      expect(coded.headers).not.toHaveProperty('content-encoding')
      return
    }
    expect(coded.headers['content-encoding']).toBe(coding)
    expect(decoded[coding](coded.rawPayload).equals(plain.rawPayload)).toBe(true)
    expect(Number(coded.headers['content-length'])).toBe(coded.rawPayload.length)
    expect(coded.rawPayload.length).toBeLessThan(0.6 * plain.rawPayload.length)
    expect(coded.headers['cache-control']).toBe(plain.headers['cache-control'])
    for (const { headers } of [plain, coded]) expect(headers['vary']).toContain('Accept-Encoding')

    const etag = String(coded.headers['etag'])
    expect(etag).not.toBe(plain.headers['etag'])
    const again = await read(sold, path, { ...accepting, 'if-none-match': etag })
    expect([again.statusCode, again.headers['etag'], again.body]).toEqual([304, etag, ''])
    // The other representation is another one.
    const other = await read(sold, path, { 'if-none-match': etag })
    expect(other.statusCode).toBe(200)
    const head = await sold.app.inject({ method: 'HEAD', url: path, headers: accepting })
    expect(head.rawPayload).toHaveLength(0)
    expect(head.headers['content-length']).toBe(coded.headers['content-length'])
  })

  test.each(contracts)(
    'buys $id, and gets the stored answer again by any coding',
    async (contract) => {
      const url = pathOf(contract, 'BTC')
      const choices = {
        amount: contract.priceUsdcAtomic,
        payTo: PAY_TO,
        nowMs: market.nowMs,
      } as const
      const payment = {
        'payment-signature': encodedPayment(await signedPayload(newBuyer(), choices)),
      }
      const bought = await read(sold, url, { ...payment, ...accepting })
      expect(bought.statusCode).toBe(200)
      const plain = await read(sold, url, payment)
      expect(plain.headers).not.toHaveProperty('content-encoding')
      for (const other of codings) {
        const again = await read(sold, url, { ...payment, 'accept-encoding': other })
        const isCoded = plain.rawPayload.length >= 1_400
        expect(again.headers['content-encoding']).toBe(isCoded ? other : undefined)
        const bytes = isCoded ? decoded[other](again.rawPayload) : again.rawPayload
        expect(bytes.equals(plain.rawPayload)).toBe(true)
      }
      expect(bought.headers['vary']).toContain('Accept-Encoding')
      expect(bought.headers['payment-response']).toBeDefined()

      const etag = String(bought.headers['etag'])
      expect(etag.replace(/^W\//, '')).toBe(plain.headers['etag'])
      const held = await read(sold, url, { ...payment, ...accepting, 'if-none-match': etag })
      expect(held.statusCode).toBe(304)
      expect(held.headers).not.toHaveProperty('content-encoding')
    },
  )

  test('gets quotes and refusals as they are, however long', async () => {
    for (const url of ['/pulse/BTC', '/bundle/BTC', '/pulse/NOPE', '/nothing']) {
      const { headers, body, statusCode } = await read(sold, url, accepting)
      expect(statusCode).toBeGreaterThanOrEqual(400)
      expect(headers).not.toHaveProperty('content-encoding')
      expect(() => JSON.parse(body)).not.toThrow()
    }
  })
})

test.each([
  ['gzip, deflate, br', 'br'],
  ['gzip;q=1, br;q=0.5', 'gzip'],
  ['br;q=0, *', 'gzip'],
  ['*', 'br'],
  ['identity;q=0, gzip', 'gzip'],
  ['identity, gzip;q=0.5', undefined],
  ['deflate', undefined],
  ['gzip;q=0', undefined],
  ['', undefined],
  // No acceptable coding exists; RFC 9110, 12.4.1, allows the unencoded answer.
  ['identity;q=0', undefined],
  ['*;q=0', undefined],
])('"%s" is answered by %s', async (accepted, coding) => {
  for (const path of ['/bundle/BTC', '/openapi.json']) {
    const response = await read(given, path, { 'accept-encoding': accepted })
    expect(response.statusCode).toBe(200)
    expect(response.headers['content-encoding']).toBe(coding)
  }
})

test('an answer that fits into one packet is not compressed, unless identity is not accepted', async () => {
  const path = '/oi/BTC?fields=oi.current'
  const small = await read(given, path, { 'accept-encoding': 'br' })
  expect(small.headers).not.toHaveProperty('content-encoding')
  const forced = await read(given, path, { 'accept-encoding': 'br, identity;q=0' })
  expect(forced.headers['content-encoding']).toBe('br')
})
