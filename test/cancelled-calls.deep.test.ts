import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Ground } from './support/attacked.ts'
import { PULSE_PRICE, SOLD, startGround } from './support/attacked.ts'

const STOP_MS_MAX = 60_000
let ground: Ground

beforeAll(async () => {
  ground = await startGround()
})

afterAll(() => ground?.close())

type Moment = 'verify' | 'settle'

/** How a protocol pays for a pulse, and how a disconnected buyer gets the paid answer. */
type Protocol = {
  begin(url: string): Promise<(payment: unknown) => Message>
  again(paid: Message): Message
}
type Message = {
  readonly path: string
  readonly body: object
  readonly headers?: Readonly<Record<string, string>>
}

const clientMeta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

function toolCall(payment: unknown, meta: object = {}) {
  const params = {
    name: 'get_pulse',
    arguments: { coin: 'BTC', view: 'full' },
    _meta: { ...meta, 'x402/payment': payment },
  }
  return { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
}

const protocols: Readonly<Record<string, Protocol>> = {
  'MCP of 2025': {
    begin: async () => (payment) => ({ path: '/mcp', body: toolCall(payment) }),
    again: (paid) => paid,
  },
  'MCP of 2026': {
    begin: async () => (payment) => ({
      path: '/mcp',
      body: toolCall(payment, clientMeta),
      headers: {
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': 'get_pulse',
      },
    }),
    again: (paid) => paid,
  },
  A2A: {
    begin: async (url) => {
      const headers = { 'a2a-version': '1.0' }
      const sending = (more: object) => ({
        path: '/a2a',
        headers,
        body: {
          jsonrpc: '2.0',
          id: 1,
          method: 'SendMessage',
          params: {
            message: {
              messageId: randomUUID(),
              role: 'ROLE_USER',
              parts: [{ text: 'pulse BTC' }],
              ...more,
            },
          },
        },
      })
      const quoted = (await (await post(url, sending({}))).json()) as {
        result: { task: { id: string } }
      }
      const { id: taskId } = quoted.result.task
      return (payment) => sending({ taskId, metadata: { 'x402.payment.payload': payment } })
    },
    again: ({ path, headers, body }) => {
      const { params } = body as { params: { message: { taskId: string } } }
      const get = {
        jsonrpc: '2.0',
        id: 2,
        method: 'GetTask',
        params: { id: params.message.taskId },
      }
      return { path, ...(headers && { headers }), body: get }
    },
  },
}

function post(url: string, { path, body, headers }: Message, signal?: AbortSignal) {
  return fetch(url + path, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  })
}

/** A gateway whose payment waits at `moment` until `release`. */
async function heldAt(moment: Moment) {
  const [reached, reach] = gate()
  const [released, release] = gate()
  const hold = async (at: Moment) => {
    if (at !== moment) return
    reach()
    await released
  }
  const { facilitator } = ground
  const gateway = await ground.gateway({
    facilitator: {
      ...facilitator,
      verify: async (payment) => {
        await hold('verify')
        return facilitator.verify(payment)
      },
      settle: async (payment) => {
        await hold('settle')
        return facilitator.settle(payment)
      },
    },
  })
  const buyer = await ground.fundedBuyer()
  const payment = signedBy(await ground.paymentOf(buyer))
  return { gateway, buyer, payment, reached, release }
}

describe.each(Object.entries(protocols))('a paid call over %s', (_name, protocol) => {
  test.each(['verify', 'settle'] as const)(
    'whose client hangs up during %s is charged once, and its answer is kept for it',
    async (moment) => {
      const { gateway, buyer, payment, reached, release } = await heldAt(moment)
      const paid = (await protocol.begin(gateway.url))(payment)
      const leaving = new AbortController()
      const left = post(gateway.url, paid, leaving.signal).catch(() => null)
      await reached
      leaving.abort()
      await left
      release()
      await expect
        .poll(async () => (await post(gateway.url, protocol.again(paid))).text())
        .toContain(sold)
      expect(await ground.spent(buyer)).toBe(PULSE_PRICE)
    },
  )

  test('whose client hung up holds up no stop', async () => {
    const { gateway, payment, reached, release } = await heldAt('settle')
    const paid = (await protocol.begin(gateway.url))(payment)
    const leaving = new AbortController()
    const left = post(gateway.url, paid, leaving.signal).catch(() => null)
    await reached
    leaving.abort()
    await left
    const beganMs = performance.now()
    await gateway.app.close()
    expect(performance.now() - beganMs).toBeLessThan(STOP_MS_MAX)
    release()
  })
})

describe('over MCP', () => {
  test('a call that a notification cancels is answered, and its stream ends', async () => {
    const { gateway, buyer, payment, reached, release } = await heldAt('settle')
    const answered = post(gateway.url, { path: '/mcp', body: toolCall(payment) })
    await reached
    const cancellation = {
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 1 },
    }
    expect((await post(gateway.url, { path: '/mcp', body: cancellation })).status).toBe(202)
    release()
    expect(await (await answered).text()).toContain(sold)
    expect(await ground.spent(buyer)).toBe(PULSE_PRICE)
  })

  test('two calls with one id are both answered', async () => {
    const { gateway, release } = await heldAt('settle')
    release()
    const buyers = await Promise.all([ground.fundedBuyer(), ground.fundedBuyer()])
    const texts = buyers.map(async (buyer) => {
      const payment = signedBy(await ground.paymentOf(buyer))
      return (await post(gateway.url, { path: '/mcp', body: toolCall(payment) })).text()
    })
    for (const text of texts) expect(await text).toContain(sold)
    for (const buyer of buyers) expect(await ground.spent(buyer)).toBe(PULSE_PRICE)
  })
})

/** Text as in an answer, also inside a JSON string. */
const sold = SOLD.replaceAll('"', '')

function gate(): readonly [Promise<void>, () => void] {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return [opened, open]
}

/** The payment of a header, as a member of a message. */
function signedBy(header: string): unknown {
  return JSON.parse(Buffer.from(header, 'base64').toString())
}
