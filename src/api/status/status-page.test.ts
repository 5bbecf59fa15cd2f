import { expect, test } from 'vitest'
import { freeDocument } from '../send-document.ts'
import { consolePage } from '../testing/console-fixture.ts'
import { gatewayFixture } from '../testing/gateway-fixture.ts'

const console = { page: consolePage(), charts: [], sampleCoin: 'BTC' }

test('/status is the newest report for programs, and a page for browsers', async () => {
  let report = '{"status":"ok"}'
  const status = {
    get document() {
      return freeDocument('application/json; charset=utf-8', report)
    },
  }
  const { app } = gatewayFixture({ console, status })
  const first = await app.inject('/status')
  expect(first.json()).toEqual({ status: 'ok' })
  expect(first.headers).toMatchObject({
    'cache-control': 'no-cache',
    vary: expect.stringContaining('Accept,'),
  })
  const headers = { 'if-none-match': String(first.headers.etag) }
  expect((await app.inject({ url: '/status', headers })).statusCode).toBe(304)
  report = '{"status":"unavailable"}'
  const changed = await app.inject({ url: '/status', headers })
  expect(changed.json()).toEqual({ status: 'unavailable' })
  const page = await app.inject({ url: '/status', headers: { accept: 'text/html' } })
  expect(page.body).toContain('<!doctype html>')
  expect(page.headers['content-security-policy']).not.toContain('unsafe')
})
