import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js'
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'

/** A server in front of the service, for what a client of the harness expects and the service does not have. */
export type Adapter = { readonly name: string; readonly url: string; close(): Promise<void> }

/** Removes what version 2 added to the responses, so that a client for both versions pays by version 1. */
export function startVersion1Proxy(target: string): Promise<Adapter> {
  return listening('without the headers of version 2', async (request, response) => {
    const headers = Object.entries(request.headersDistinct).flatMap(([name, values]) =>
      name === 'host' || name === 'connection' ? [] : [[name, values?.join(', ') ?? ''] as const],
    )
    const answer = await fetch(new URL(request.url ?? '/', target), {
      headers: [...headers.map(([name, value]): [string, string] => [name, value])],
    })
    const kept = Array.from(answer.headers).filter(
      ([name]) => !/^(payment-|content-encoding|content-length|transfer-encoding)/.test(name),
    )
    response.writeHead(answer.status, Object.fromEntries(kept))
    response.end(Buffer.from(await answer.arrayBuffer()))
  })
}

/**
 * The transport of MCP before streamable HTTP: messages by POST, replies as events. The client calls every tool with
 * the arguments of the harness's weather tool, which are removed.
 */
export function startSseBridge(target: string): Promise<Adapter> {
  const transports = new Map<string, SSEServerTransport>()
  return listening('by an SSE bridge', async (request, response) => {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1')
    if (request.method === 'POST') {
      await transports
        .get(url.searchParams.get('sessionId') ?? '')
        ?.handlePostMessage(request, response)
      return
    }
    const transport = new SSEServerTransport('/messages', response)
    transports.set(transport.sessionId, transport)
    transport.onmessage = (message) => void forward(message, target, transport)
    await transport.start()
  })
}

async function forward(
  message: JSONRPCMessage,
  target: string,
  transport: SSEServerTransport,
): Promise<void> {
  const isCall = 'method' in message && message.method === 'tools/call'
  const body = isCall ? { ...message, params: { ...message.params, arguments: {} } } : message
  const answer = await fetch(`${target}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify(body),
  })
  const said = await answer.text()
  const replies = answer.headers.get('content-type')?.startsWith('text/event-stream')
    ? Array.from(said.matchAll(/^data: (.+)$/gm), ([, data = '']) => data)
    : [said]
  for (const reply of replies.filter((one) => one !== ''))
    await transport.send(JSON.parse(reply) as JSONRPCMessage)
}

async function listening(
  name: string,
  handle: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
): Promise<Adapter> {
  const server: Server = createServer((request, response) => {
    handle(request, response).catch((cause: unknown) => {
      if (!response.headersSent) response.writeHead(502)
      response.end(String(cause))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    name,
    url: `http://127.0.0.1:${port}`,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
