import type { FastifyInstance } from 'fastify'
import { describe, expect, onTestFinished, test } from 'vitest'
import { gatewayFixture, quotingGate } from '../testing/gateway-fixture.ts'

const methods = [
  ...['initialize', 'ping', 'tools/list', 'tools/call', 'server/discover', 'nonsense'],
  ...['subscriptions/listen', 'resources/subscribe', 'tasks/get', 'sampling/createMessage'],
  ...['notifications/cancelled', 'notifications/initialized'],
]
const parameters = [
  undefined,
  { name: 'get_pulse', arguments: { coin: 'BTC' } },
  { name: 'get_pulse', arguments: null, task: { ttl: 1_000 } },
  { notifications: { toolsListChanged: true } },
  { requestId: 1 },
]
const claims = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

/** `inject` resolves with the end of the stream, so one that stays open runs into the time limit. */
test.each(methods)('%s is answered by a stream that ends', async (method) => {
  const { app } = gatewayFixture()
  onTestFinished(() => app.close())
  for (const given of parameters)
    for (const isModern of [false, true]) {
      const params = isModern ? { ...given, _meta: claims } : given
      const response = await app.inject({
        method: 'POST',
        url: '/mcp',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...(isModern && {
            'mcp-protocol-version': '2026-07-28',
            'mcp-method': method,
            'mcp-name': given?.name ?? '',
          }),
        },
        payload: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      })
      expect(response.body, `${method} ${JSON.stringify(params)}`).toMatch(/"(result|error)":/)
    }
})

test.each([
  ['initialize', undefined],
  ['initialize', {}],
  ['initialize', { protocolVersion: 5 }],
  ['initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: 5 }],
  ['initialize', { protocolVersion: '2025-06-18', clientInfo: { name: 'a', version: '1' } }],
  ['tools/list', { cursor: 5 }],
])('%s with %j has invalid parameters', async (method, params) => {
  const { app } = gatewayFixture()
  onTestFinished(() => app.close())
  const response = await app.inject({
    method: 'POST',
    url: '/mcp',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    payload: JSON.stringify({ jsonrpc: '2.0', id: 'a', method, params }),
  })
  expect(response.json()).toEqual({
    ...{ jsonrpc: '2.0', id: 'a' },
    error: { code: -32602, message: `The parameters of ${method} are not those of the protocol.` },
  })
})

describe('a tool call', () => {
  /** The problem of the refusal. */
  async function refused(app: FastifyInstance, args: unknown, payment?: unknown) {
    onTestFinished(() => app.close())
    const meta = payment === undefined ? {} : { _meta: { 'x402/payment': payment } }
    const params = { name: 'get_pulse', arguments: args, ...meta }
    const response = await app.inject({
      method: 'POST',
      url: '/mcp',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      payload: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    })
    const [, data = ''] = /^data: (.*)$/m.exec(response.body) ?? []
    const { result } = JSON.parse(data)
    expect(result.isError).toBe(true)
    return JSON.parse(result.content[0].text)
  }

  test.each([undefined, {}, { coin: '' }, { coin: null }, { coin: ' ' }])(
    'without a coin, with arguments %j, names the argument',
    async (args) => {
      expect(await refused(gatewayFixture().app, args)).toMatchObject({
        ...{ code: 'invalid_coin', param: 'coin', charged: false },
        detail: 'The coin is missing. GET /coins lists all tickers.',
      })
    },
  )

  test('with an unknown argument and a payment denies no charge', async () => {
    const args = { coin: 'BTC', foo: 1 }
    const sent = [gatewayFixture().app, args] as const
    expect(await refused(...sent, { x402Version: 2 })).toMatchObject({
      ...{ code: 'unknown_parameter', charged: null, payment_reusable: true },
      detail: expect.stringContaining('An earlier request may have charged this payment.'),
    })
    for (const payment of [undefined, null])
      expect(await refused(gatewayFixture().app, args, payment)).toMatchObject({
        ...{ code: 'unknown_parameter', charged: false, payment_reusable: false },
      })
  })

  test('takes no payment for null, and any other value as a payment that the path reads', async () => {
    const { app } = gatewayFixture({ payment: quotingGate })
    const seen: unknown[] = []
    app.addHook('preValidation', (request, _reply, done) => {
      if (request.url.startsWith('/pulse')) seen.push(request.headers['payment-signature'])
      done()
    })
    for (const payment of [null, 'e30=', 'a\r\nb', 5, {}])
      await refused(app, { coin: 'BTC' }, payment)
    expect(seen).toEqual([undefined, 'e30=', 'a\r\nb', 'NQ==', 'e30='])
  })
})
