import { randomUUID } from 'node:crypto'
import { describe, expect, onTestFinished, test } from 'vitest'
import { gatewayFixture } from './testing/gateway-fixture.ts'

const calls = {
  '/mcp': { method: 'tools/call', params: { name: 'get_pulse', arguments: { coin: 'BTC' } } },
  '/a2a': {
    method: 'SendMessage',
    params: {
      message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text: 'pulse BTC' }] },
    },
  },
}
const routes = Object.entries(calls) as [keyof typeof calls, (typeof calls)['/mcp']][]

/** A gateway that counts how often a paid path was asked. */
function gateway() {
  let asked = 0
  const { app } = gatewayFixture({
    payment: (paid) => {
      paid.addHook('onRequest', (_request, _reply, done) => {
        asked += 1
        done()
      })
    },
  })
  onTestFinished(() => app.close())
  const post = (url: string, body: unknown) =>
    app.inject({
      method: 'POST',
      url,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'a2a-version': '1.0',
      },
      payload: typeof body === 'string' ? body : JSON.stringify(body),
    })
  return { post, asked: () => asked }
}

describe.each(routes)('%s', (url, call) => {
  test.each([
    ['of two calls', [1, 2]],
    ['of two calls with one id', [1, 1]],
    ['of one call', [1]],
    ['of nothing', []],
  ])('refuses a batch %s, and asks for none of them', async (_what, ids) => {
    const { post, asked } = gateway()
    const response = await post(
      url,
      ids.map((id) => ({ jsonrpc: '2.0', id, ...call })),
    )
    expect(response.statusCode).toBe(400)
    expect(response.json()).toEqual({
      jsonrpc: '2.0',
      id: null,
      error: { code: -32600, message: expect.stringContaining('2025-06-18') },
    })
    expect(asked()).toBe(0)
  })

  test('refuses a message of thousands of levels', async () => {
    const { post, asked } = gateway()
    const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
    const params = JSON.stringify(call.params).replace('"BTC"', deep).replace('"pulse BTC"', deep)
    const response = await post(
      url,
      `{"jsonrpc":"2.0","id":7,"method":"${call.method}","params":${params}}`,
    )
    expect(response.statusCode).toBe(400)
    expect(response.json()).toMatchObject({ id: 7, error: { code: -32600 } })
    expect(asked()).toBe(0)
  })

  test('refuses a call together with its cancellation', async () => {
    const { post, asked } = gateway()
    const cancelled = {
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 1 },
    }
    const response = await post(url, [{ jsonrpc: '2.0', id: 1, ...call }, cancelled])
    expect(response.json()).toMatchObject({ error: { code: -32600 } })
    expect(asked()).toBe(0)
  })

  test.each([
    ['{"jsonrpc":"2.0","id":1,', -32700, null],
    ['', -32700, null],
    ['"pulse BTC"', -32600, null],
    ['null', -32600, null],
    [{ id: 7, ...call }, -32600, 7],
    [{ jsonrpc: '1.0', id: 'a', ...call }, -32600, 'a'],
    [{ jsonrpc: 2, id: {}, ...call }, -32600, null],
  ])('answers %j with %d', async (body, code, id) => {
    const { post, asked } = gateway()
    const response = await post(url, body)
    expect(response.statusCode).toBe(400)
    expect(response.json()).toMatchObject({ jsonrpc: '2.0', id, error: { code } })
    expect(asked()).toBe(0)
  })

  test('answers no notification', async () => {
    const { post, asked } = gateway()
    const response = await post(url, { jsonrpc: '2.0', ...call })
    expect([response.statusCode, response.body]).toEqual([202, ''])
    expect(asked()).toBe(0)
  })

  test('takes a single call', async () => {
    const { post, asked } = gateway()
    const response = await post(url, { jsonrpc: '2.0', id: 1, ...call })
    expect(response.statusCode).toBe(200)
    expect(response.body).toContain('rsi_14')
    expect(asked()).toBe(1)
  })
})
