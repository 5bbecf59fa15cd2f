import { expect, onTestFinished, test } from 'vitest'
import { gatewayFixture } from '../testing/gateway-fixture.ts'

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
