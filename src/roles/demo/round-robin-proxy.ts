import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, request } from 'node:http'

const LOOPBACK = '127.0.0.1'

export type RoundRobinProxy = { readonly url: string; close(): Promise<void> }

/**
 * An HTTP proxy for loopback. Each request goes to the next gateway, so that a quote and its payment reach different
 * ones. A gateway that refuses the connection is skipped; a request that was sent is never repeated.
 */
export async function startRoundRobinProxy(
  port: number,
  gateways: readonly number[],
): Promise<RoundRobinProxy> {
  let turn = 0
  const server = createServer((incoming, reply) => {
    turn = (turn + 1) % gateways.length
    forward(incoming, reply, [...gateways.slice(turn), ...gateways.slice(0, turn)])
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, LOOPBACK, resolve)
  })
  return {
    url: `http://${LOOPBACK}:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function forward(
  incoming: IncomingMessage,
  reply: ServerResponse,
  [port, ...others]: readonly number[],
): void {
  const { method, url: path, socket } = incoming
  const headers = { ...incoming.headers, 'x-forwarded-for': socket.remoteAddress }
  const outgoing = request({ host: LOOPBACK, port, method, path, headers, agent: false })
  let isConnected = false
  // A live stream would be sent to a browser that has gone until the gateway ends.
  reply.once('close', () => {
    if (!reply.writableFinished) outgoing.destroy()
  })
  outgoing.on('socket', (upstream) =>
    upstream.once('connect', () => {
      isConnected = true
      incoming.pipe(outgoing)
    }),
  )
  outgoing.on('response', (response) => {
    reply.writeHead(response.statusCode ?? 502, response.headers)
    response.on('error', () => reply.destroy())
    response.pipe(reply)
  })
  outgoing.on('error', () => {
    if (reply.destroyed) return
    if (!isConnected && others.length > 0) forward(incoming, reply, others)
    else if (reply.headersSent) reply.destroy()
    else reply.writeHead(502).end()
  })
}
