import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { problem } from '../domain/problem.ts'
import { callerKey } from '../payment/rate-limit.ts'
import type { Defer } from './fair-queue.ts'
import type { ProxyTrust } from './proxy-trust.ts'
import { isTrustedProxy } from './proxy-trust.ts'
import { HEADERS_MAX } from './request-head.ts'
import { sendProblem } from './send-problem.ts'

const CONNECTIONS_MAX = 1_000
/** A browser opens six and a busy agent some dozens; 50 agents behind one address still fit. */
const CONNECTIONS_PER_ADDRESS_MAX = 128
/** Kept free by closing idle connections: beyond `CONNECTIONS_MAX` Node closes new ones without a word. */
const CONNECTIONS_FREE_MIN = 100
/** Whoever sends more before an answer is read could have thousands rendered by one packet. */
const WAITING_MAX = 64

/** Node keeps there which response a connection is at work on: to count every request would cost every read. */
type Connection = Socket & { readonly _httpMessage?: ServerResponse | null }

/** What the options of Fastify do not bound. */
export function limitConnections(
  app: FastifyInstance,
  { proxies, defer }: { readonly proxies: ProxyTrust | undefined; readonly defer: Defer },
): void {
  app.server.maxHeadersCount = HEADERS_MAX + 1
  app.server.maxConnections = CONNECTIONS_MAX
  limitAddresses(app.server, isTrustedProxy(proxies))
  limitWaiting(app, defer)
}

/**
 * Bounds the connections of one address before any byte is read, and closes idle ones of the addresses that hold
 * most when few are left for others. Trusted proxies are exempt: each stands for all of its callers.
 */
function limitAddresses(server: Server, isProxy: (address: string) => boolean): void {
  const byCaller = new Map<string, Set<Connection>>()
  let total = 0
  // Before Node's own listener, which would begin to read.
  server.prependListener('connection', (connection: Connection) => {
    const { remoteAddress } = connection
    if (remoteAddress === undefined) return
    total += 1
    connection.once('close', () => {
      total -= 1
    })
    if (isProxy(remoteAddress)) return
    const caller = callerKey(remoteAddress)
    const own = byCaller.get(caller) ?? new Set()
    if (own.size >= CONNECTIONS_PER_ADDRESS_MAX) {
      refuse(connection)
      return
    }
    byCaller.set(caller, own.add(connection))
    connection.once('close', () => {
      own.delete(connection)
      if (own.size === 0) byCaller.delete(caller)
    })
    if (total > CONNECTIONS_MAX - CONNECTIONS_FREE_MIN) closeIdle(byCaller, own.size)
  })
}

/** The longest idle connection of the address that holds most, and more than `ownCount`. */
function closeIdle(byCaller: ReadonlyMap<string, Set<Connection>>, ownCount: number): void {
  for (const connections of [...byCaller.values()].sort((a, b) => b.size - a.size)) {
    if (connections.size <= ownCount) return
    const idle = [...connections].find(({ _httpMessage }) => !_httpMessage)
    if (idle === undefined) continue
    connections.delete(idle)
    idle.destroy()
    return
  }
}

/**
 * A short answer rather than a mere close: many agents may share an address, and one that is refused should not take
 * it for an outage. It costs one write; what the caller sends is never read.
 */
function refuse(connection: Connection): void {
  connection.write(tooManyConnections)
  connection.destroySoon()
}

const tooManyConnections = rawRefusal()

function rawRefusal(): string {
  const { status, headers, body } = problem(
    'rate_limited',
    {
      detail: `More than ${CONNECTIONS_PER_ADDRESS_MAX} connections are open from this address: reuse them, or close some.`,
      retryAfterSeconds: 1,
      paymentReusable: true,
    },
    { instance: '/', requestId: '' },
  )
  const lines = Object.entries({
    ...headers,
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status} Too Many Requests\r\n${lines.join('')}\r\n${body}`
}

/**
 * Requests of one connection are handled in turn, each in a turn of the event loop of its own: a packet full of them
 * holds nobody up, and what stands behind an answer that closes the connection is neither worked for nor charged.
 */
function limitWaiting(app: FastifyInstance, defer: Defer): void {
  const waiting = new WeakMap<Socket, number>()
  app.addHook('onRequest', (request, reply, done) => {
    const connection: Connection = request.raw.socket
    if (!connection._httpMessage || connection._httpMessage === reply.raw) {
      done()
      return
    }
    const count = (waiting.get(connection) ?? 0) + 1
    waiting.set(connection, count)
    if (count <= WAITING_MAX) {
      // Node gives a response its socket when the one before has been sent.
      reply.raw.once('socket', () => {
        waiting.set(connection, (waiting.get(connection) ?? 0) - 1)
        defer(done)
      })
    } else if (count === WAITING_MAX + 1) {
      // The last that this connection is told; it stays counted, so that nothing behind it is looked at.
      void reply.header('connection', 'close')
      sendProblem(reply, 'rate_limited', {
        detail: `More than ${WAITING_MAX} requests wait on this connection: read the answers first, or use another one.`,
        retryAfterSeconds: 1,
      })
    } else {
      reply.hijack()
    }
  })
}

/**
 * Closing, Node waits for every connection, also for one whose caller keeps it after the call that was under way.
 * `closeIdleConnections` again and again would cut off answers that are still being sent.
 */
export function endConnectionsWithTheirCalls(app: FastifyInstance): void {
  const connections = new Set<Connection>()
  app.server.on('connection', (connection: Connection) => {
    connections.add(connection)
    connection.once('close', () => connections.delete(connection))
  })
  app.addHook('preClose', (done) => {
    for (const connection of connections) {
      const response = connection._httpMessage
      if (!response) continue
      if (response.headersSent) response.once('finish', () => connection.destroySoon())
      else response.setHeader('connection', 'close')
    }
    done()
  })
}
