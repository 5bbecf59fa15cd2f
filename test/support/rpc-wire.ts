import type { AddressInfo } from 'node:net'
import Fastify from 'fastify'

/** A proxy to a node that can be cut and counts its requests. */
export type RpcWire = {
  readonly url: string
  requests(): number
  /** The most requests within one second since `fromMs` of `performance.now()`. */
  busiestSecond(fromMs: number): number
  cut(): void
  mend(): void
  /** Forwards the next request of this method and drops its reply. */
  swallow(method: string): void
  close(): Promise<void>
}

/** @param perSecondMax requests per second that the node answers; more are refused, as by a rate-limited provider */
export async function rpcWire(
  target: string,
  { perSecondMax = Number.POSITIVE_INFINITY } = {},
): Promise<RpcWire> {
  const cameMs: number[] = []
  let isCut = false
  let swallowed: string | null = null
  const busiestSecond = (fromMs: number) => {
    const since = cameMs.filter((ms) => ms >= fromMs)
    const counts = since.map((ms) => since.filter((at) => at > ms - 1_000 && at <= ms).length)
    return Math.max(0, ...counts)
  }
  const app = Fastify({ forceCloseConnections: true })
  app.post('/', async (request, reply) => {
    const nowMs = performance.now()
    cameMs.push(nowMs)
    if (isCut) {
      request.raw.socket.destroy()
      return reply.hijack()
    }
    if (cameMs.filter((ms) => ms > nowMs - 1_000).length > perSecondMax)
      return reply.code(429).send({ error: 'requests a second' })
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
    requests: () => cameMs.length,
    busiestSecond,
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
