import { Client as NewClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Gateway, Ground } from './support/attacked.ts'
import { startGround } from './support/attacked.ts'

const QUOTES_PER_MINUTE = 2

let ground: Ground

beforeAll(async () => {
  ground = await startGround()
})

afterAll(() => ground?.close())

const info = { name: 'test', version: '1.0.0' }

/** Limits use the real address of a caller, not the one that it states. */
const headers = { 'x-caller-address': '203.0.113.9' }

const generations = {
  'of today': async (gateway: Gateway, address: string) => {
    const client = new NewClient(info)
    const transport = new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp`), {
      fetch: fetchFrom(gateway, address),
      requestInit: { headers },
    })
    await client.connect(transport)
    return client
  },
  'of the generation before': async (gateway: Gateway, address: string) => {
    const client = new OldClient(info)
    const transport = new OldTransport(new URL(`${gateway.url}/mcp`), {
      fetch: fetchFrom(gateway, address),
      requestInit: { headers },
    })
    await client.connect(transport as never)
    return client
  },
}

test.each(Object.entries(generations))(
  'an MCP client %s uses up the quotes of its own address only',
  async (_name, connect) => {
    const gateway = await ground.gateway({ quotesPerMinute: QUOTES_PER_MINUTE })
    const quote = async (client: Awaited<ReturnType<typeof connect>>) =>
      JSON.stringify(await client.callTool({ name: 'get_pulse', arguments: { coin: 'BTC' } }))
    const greedy = await connect(gateway, '203.0.113.1')
    for (let call = 0; call < QUOTES_PER_MINUTE; call += 1)
      expect(await quote(greedy)).toContain('accepts')
    expect(await quote(greedy)).toContain('rate_limited')
    const other = await connect(gateway, '203.0.113.2')
    expect(await quote(other)).toContain('accepts')
    await Promise.all([greedy.close(), other.close()])
  },
)

/** `fetch` from that address. */
function fetchFrom({ app }: Gateway, remoteAddress: string) {
  return async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init)
    const response = await app.inject({
      method: request.method as 'GET' | 'POST',
      url: new URL(request.url).pathname,
      headers: Object.fromEntries(request.headers),
      payload: await request.text(),
      remoteAddress,
    })
    return new Response(response.body, {
      status: response.statusCode,
      headers: response.headers as Record<string, string>,
    })
  }
}
