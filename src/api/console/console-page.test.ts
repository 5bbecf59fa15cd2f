import { describe, expect, test } from 'vitest'
import { consolePage } from '../testing/console-fixture.ts'
import { gatewayFixture, quotingGate } from '../testing/gateway-fixture.ts'

/** What browsers send when somebody opens an address. */
const browser = {
  accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8',
}
const settings = { page: consolePage(), charts: [], sampleCoin: 'BTC' }

describe('the page of the console', () => {
  test.each([{}, { accept: '*/*' }, { accept: 'application/json' }, { accept: 'text/plain, */*' }])(
    'is not what a caller with %j gets at /',
    async (headers) => {
      const { app } = gatewayFixture({ console: settings })
      const response = await app.inject({ url: '/', headers })
      expect(response.headers['content-type']).toContain('application/json')
      expect(response.headers.vary).toContain('Accept,')
    },
  )

  test('is what a browser gets at /, and no cache gives it to others', async () => {
    const { app } = gatewayFixture({ console: settings })
    const { headers, body } = await app.inject({ url: '/', headers: browser })
    expect(body).toContain('<!doctype html>')
    expect(headers).toMatchObject({
      'cache-control': 'no-cache',
      vary: expect.stringContaining('Accept,'),
    })
  })

  test('may run no inline code, load nothing from other hosts, and stand in no frame', async () => {
    const { app } = gatewayFixture({ console: settings })
    const { headers } = await app.inject({ url: '/', headers: browser })
    const policy = String(headers['content-security-policy'])
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toMatch(/unsafe|https?:|\*/)
  })

  test('comes with the status and the headers of the quote where a browser opens a paid path', async () => {
    const { app } = gatewayFixture({ console: settings, payment: quotingGate })
    const quote = await app.inject('/pulse/BTC')
    const page = await app.inject({ url: '/pulse/BTC', headers: browser })
    expect(page.statusCode).toBe(402)
    expect(page.headers['content-type']).toContain('text/html')
    expect(page.body).toContain('<!doctype html>')
    expect(page.headers['content-security-policy']).toBeDefined()
    expect(quote.headers['content-type']).toContain('application/json')
  })

  test('never stands in place of an answer, or of a refused payment', async () => {
    const { app } = gatewayFixture({ console: settings, payment: quotingGate })
    const paid = { ...browser, 'x-payment': 'signed' }
    const answer = await app.inject({ url: '/pulse/BTC', headers: paid })
    expect(answer.json()).toMatchObject({ coin: 'BTC' })
    const refused = await app.inject({ url: '/pulse/NOPE', headers: paid })
    expect(refused.json()).toMatchObject({ code: 'invalid_coin' })
  })

  test('names files that may be kept for ever, sent as they were compressed', async () => {
    const { app } = gatewayFixture({ console: settings })
    const { headers, body } = await app.inject({
      url: '/console/main-ABCDEFGH.js',
      headers: { 'accept-encoding': 'gzip, br' },
    })
    expect(body).toBe('br')
    expect(headers).toMatchObject({
      'content-encoding': 'br',
      'cache-control': 'public, max-age=31536000, immutable',
    })
  })
})
