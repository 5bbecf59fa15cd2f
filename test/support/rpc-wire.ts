import type { AddressInfo } from 'node:net'
import Fastify from 'fastify'

/** A wire to a node that can be cut, and counts what goes over it. */
export type RpcWire = {
  readonly url: string
  requests(): number
  cut(): void
  mend(): void
  /** The next request of this method reaches the node, its answer reaches nobody. */
  swallow(method: string): void
  close(): Promise<void>
}

export async function rpcWire(target: string): Promise<RpcWire> {
  let requests = 0
  let isCut = false
  let swallowed: string | null = null
  const app = Fastify({ forceCloseConnections: true })
  app.post('/', async (request, reply) => {
    requests += 1
    if (isCut) {
      request.raw.socket.destroy()
      return reply.hijack()
    }
    const response = await fetch(target, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(request.body),
    })
    const text = await response.text()
    if ((request.body as { method?: string }).method === swallowed) {
      swallowed = null
      request.raw.socket.destroy()
      return reply.hijack()
    }
    return reply.header('content-type', 'application/json').send(text)
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    requests: () => requests,
    cut: () => {
      isCut = true
    },
    mend: () => {
      isCut = false
    },
    swallow: (method) => {
      swallowed = method
    },
    close: () => app.close(),
  }
}
