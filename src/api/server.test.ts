import { describe, expect, test } from 'vitest'
import { quoteLimit } from '../payment/quote-limit.ts'
import type { ProxyTrust } from './proxy-trust.ts'
import { expectProblem } from './testing/expect-problem.ts'
import { gatewayFixture, quotingGate } from './testing/gateway-fixture.ts'

describe('methods', () => {
  test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND'] as const)(
    '%s on a known path is 405 and names what is allowed',
    async (method) => {
      const { app } = gatewayFixture({ payment: quotingGate })
      for (const url of ['/pulse/BTC', '/health', '/']) {
        // The type of `inject` knows only the common methods; the parser knows them all.
        const response = await app.inject({ method: method as 'POST', url })
        expectProblem(response, 405, 'method_not_allowed')
        expect(response.headers.allow).toBe('GET, HEAD, OPTIONS')
      }
    },
  )

  test('the body of a GET is not read', async () => {
    const { app } = gatewayFixture()
    const response = await app.inject({
      method: 'POST',
      url: '/pulse/BTC',
      headers: { 'content-type': 'application/json' },
      payload: '{broken',
    })
    expectProblem(response, 405, 'method_not_allowed')
  })

  test('a preflight is answered before any payment logic, also under maintenance', async () => {
    const { app, maintenance, clock } = gatewayFixture({ payment: quotingGate })
    maintenance.set(true, clock.nowMs())
    const response = await app.inject({
      method: 'OPTIONS',
      url: '/pulse/BTC',
      headers: { origin: 'https://agent.example', 'access-control-request-method': 'GET' },
    })
    expect(response.statusCode).toBe(204)
    expect(response.body).toBe('')
    expect(response.headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET, HEAD, OPTIONS',
      allow: 'GET, HEAD, OPTIONS',
    })
    expect(response.headers['access-control-allow-headers']).toContain('X-PAYMENT')
  })

  test('a page of another origin may read an answer and the payment terms', async () => {
    const { app } = gatewayFixture({ payment: quotingGate })
    const quote = await app.inject({ url: '/pulse/BTC', headers: { origin: 'https://a.example' } })
    expect(quote.statusCode).toBe(402)
    expect(quote.headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-expose-headers': expect.stringContaining('PAYMENT-REQUIRED'),
    })
    const unasked = await app.inject('/coins')
    expect(unasked.headers, 'nobody else pays for the bytes').not.toHaveProperty(
      'access-control-allow-origin',
    )
    expect(unasked.headers.vary).toBe('Origin, Accept-Encoding')
  })

  test('HEAD on a free path has the headers of GET and no body', async () => {
    const { app } = gatewayFixture()
    for (const url of ['/', '/health', '/coins', '/pulse/BTC']) {
      const [head, get] = await Promise.all([
        app.inject({ method: 'HEAD', url }),
        app.inject({ method: 'GET', url }),
      ])
      expect(head.statusCode).toBe(200)
      expect(head.body).toBe('')
      expect(head.headers['content-length']).toBe(get.headers['content-length'])
    }
  })
})

describe('the caller', () => {
  const proxy = '10.0.0.1'
  /** Whose allowance a second call uses, that comes by the same connection from somebody else. */
  const statuses = async (trustProxy: ProxyTrust | undefined, ...forwardedFor: string[]) => {
    const { app } = gatewayFixture({
      quoteLimit: quoteLimit(1),
      payment: quotingGate,
      ...(trustProxy === undefined ? {} : { trustProxy }),
    })
    const seen: number[] = []
    for (const value of forwardedFor) {
      const headers = { 'x-forwarded-for': value }
      const call = { url: '/pulse/BTC', headers, remoteAddress: proxy }
      seen.push((await app.inject(call)).statusCode)
    }
    return seen
  }

  test('is the peer address, regardless of headers', async () => {
    expect(await statuses(undefined, '1.1.1.1', '2.2.2.2')).toEqual([402, 429])
  })

  test.each<{ readonly trust: ProxyTrust }>([{ trust: 1 }, { trust: ['10.0.0.0/8'] }])(
    'is who connected to a trusted proxy: $trust',
    async ({ trust }) => {
      expect(await statuses(trust, '1.1.1.1', '2.2.2.2', '2.2.2.2')).toEqual([402, 402, 429])
      expect(await statuses(trust, '1.1.1.1, 3.3.3.3', '2.2.2.2, 3.3.3.3')).toEqual([402, 429])
    },
  )

  test('is the peer address if the peer is not a trusted proxy', async () => {
    expect(await statuses(['10.0.0.2'], '1.1.1.1', '2.2.2.2')).toEqual([402, 429])
  })
})

describe('the access log', () => {
  test('has one line per request without query and payment', async () => {
    const lines: string[] = []
    const { default: pino } = await import('pino')
    const logger = pino({ base: null }, { write: (line: string) => lines.push(line) })
    const { app } = gatewayFixture({ logger, accessLog: true })
    await app.inject({
      url: '/pulse/BTC?timeframes=4h&utm_term=secret',
      headers: { 'x-payment': 'secret' },
    })
    expect(lines).toHaveLength(1)
    expect(lines[0]).not.toContain('secret')
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      msg: 'request',
      method: 'GET',
      path: '/pulse/BTC',
      status: 200,
      ms: expect.any(Number),
      bytes: expect.any(Number),
      request_id: expect.any(String),
    })
  })
})
