import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { gatewayFixture } from '../src/api/testing/gateway-fixture.ts'

/** An idle connection is kept for 65 s. */
const TEST_MS_MAX = 60_000

const toolCall = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'get_pulse', arguments: { coin: 'BTC' } },
}

/** The second one is a stream, whose headers have left when the gateway begins to close. */
test.each([
  ['a call', '/pulse/BTC', undefined],
  ['a call of an MCP tool', '/mcp', toolCall],
])(
  '%s that is under way is answered, and its connection holds nothing up',
  async (_what, path, message) => {
    const [begun, done] = [signal(), signal()]
    const { app } = gatewayFixture({
      payment: (paid) => {
        paid.addHook('preHandler', async () => {
          begun.give()
          await done.given
        })
      },
    })
    const url = await app.listen({ host: '127.0.0.1', port: 0 })
    const agent = new Agent({ keepAlive: true })
    onTestFinished(() => agent.destroy())
    const call = request(url + path, {
      agent,
      method: message === undefined ? 'GET' : 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
    })
    const answered = once(call, 'response') as Promise<[IncomingMessage]>
    call.end(message && JSON.stringify(message))
    await begun.given
    const closed = app.close()
    await expect.poll(() => app.server.listening).toBe(false)
    done.give()
    const [response] = await answered
    expect(await text(response)).toContain('rsi_14')
    await closed
  },
  TEST_MS_MAX,
)

function signal() {
  let give: () => void = () => undefined
  const given = new Promise<void>((resolve) => {
    give = resolve
  })
  return { given, give }
}
