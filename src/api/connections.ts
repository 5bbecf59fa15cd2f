import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { problem } from '../domain/problem.ts'
import { callerKey } from '../payment/rate-limit.ts'
import { isAnswering } from './broken-request.ts'
import type { Defer } from './fair-queue.ts'
import type { ProxyTrust } from './proxy-trust.ts'
import { isTrustedProxy } from './proxy-trust.ts'
import { HEADERS_MAX } from './request-head.ts'
import { sendProblem } from './send-problem.ts'

export const HEADERS_TIMEOUT_MS = 5_000
export const CONNECTIONS_CHECK_MS = 1_000
/** Longer than the longest sale. A caller that reads nothing for this long is disconnected. */
export const SILENT_TIMEOUT_MS = 120_000
const CONNECTIONS_MAX = 1_000
/**
 * Of the files and connections that the process may open: the public and the admin port may have a share each, and the
 * service's own have the rest. Without a free one Node cannot accept, and tries it in a busy loop.
 */
const OPEN_FILES_SHARE = 1 / 3
/** A browser opens six, a busy agent some dozens. */
const CONNECTIONS_PER_ADDRESS_MAX = 128
/** Kept free by closing idle connections: beyond the maximum Node drops new ones without a response. */
const CONNECTIONS_FREE_SHARE = 1 / 10
/** Bounds pipelining: one packet could otherwise request thousands of answers. */
const WAITING_MAX = 64

/** `_httpMessage` is Node's current response of a connection; a counter of our own would slow every request. */
type Connection = Socket & { readonly _httpMessage?: ServerResponse | null }

/** Limits that Fastify has no options for. */
export function limitConnections(
  app: FastifyInstance,
  options: {
    readonly proxies: ProxyTrust | undefined
    readonly defer: Defer
    /** Of the process; undefined for no limit. */
    readonly openFilesMax: number | undefined
  },
): void {
  const { proxies, defer, openFilesMax = Number.POSITIVE_INFINITY } = options
  app.server.maxHeadersCount = HEADERS_MAX + 1
  const connectionsMax = Math.min(CONNECTIONS_MAX, Math.floor(openFilesMax * OPEN_FILES_SHARE))
  app.server.maxConnections = connectionsMax
  limitAddresses(app.server, connectionsMax, isTrustedProxy(proxies))
  limitWaiting(app, defer)
}

/**
 * Limits the connections of one address before any byte is read. When few are left, each new one takes the place of
 * another. Trusted proxies have no limit, as each carries many callers.
 */
function limitAddresses(
  server: Server,
  connectionsMax: number,
  isProxy: (address: string) => boolean,
): void {
  const byCaller = new Map<string, Set<Connection>>()
  const all = new Set<Connection>()
  const makeRoom = (newest: Connection, own: ReadonlySet<Connection>) => {
    if (all.size <= connectionsMax * (1 - CONNECTIONS_FREE_SHARE)) return
    const callers = [...byCaller.values()]
    const closed = replaceable(callers, own, newest, all.size >= connectionsMax)
    if (closed === undefined) return
    // Its `close` comes after other connections of this turn.
    for (const connections of [all, ...callers]) connections.delete(closed)
    closed.destroy()
  }
  // Before Node's own listener, which starts reading.
  server.prependListener('connection', (connection: Connection) => {
    const { remoteAddress } = connection
    if (remoteAddress === undefined) return
    all.add(connection)
    connection.once('close', () => all.delete(connection))
    if (isProxy(remoteAddress)) {
      makeRoom(connection, new Set())
      return
    }
    const caller = callerKey(remoteAddress)
    const own = byCaller.get(caller) ?? new Set()
    if (own.size >= CONNECTIONS_PER_ADDRESS_MAX) {
      refuse(connection)
      return
    }
    byCaller.set(caller, own.add(connection))
    connection.once('close', () => {
      own.delete(connection)
      // A later connection may have begun another set.
      if (own.size === 0 && byCaller.get(caller) === own) byCaller.delete(caller)
    })
    makeRoom(connection, own)
  })
}

/**
 * The connection that gives way to the newest one of `own`: the oldest idle one of the largest address that has one, of
 * those above `own`, else of `own`. Only if none is left: among these the oldest whose answer is being read, as the same
 * payment gets it again, else an idle one of an address with as many as `own`. A call that has no answer yet stays.
 * @param own empty for a proxy
 */
function replaceable(
  callers: readonly ReadonlySet<Connection>[],
  own: ReadonlySet<Connection>,
  newest: Connection,
  isFull: boolean,
): Connection | undefined {
  const larger = callers.filter(({ size }) => size > own.size).sort((a, b) => b.size - a.size)
  const oldest = (
    among: readonly ReadonlySet<Connection>[],
    isWanted: (connection: Connection) => boolean,
  ) => {
    for (const connections of among)
      for (const connection of connections)
        if (connection !== newest && isWanted(connection)) return connection
    return undefined
  }
  const idle = oldest([...larger, own], isIdle)
  if (idle !== undefined || !isFull) return idle
  return (
    oldest([...larger, own], ({ _httpMessage }) => _httpMessage?.headersSent === true) ??
    oldest(
      callers.filter(({ size }) => size === own.size),
      isIdle,
    )
  )
}

/** Nothing was begun that its caller could be charged for. */
function isIdle(connection: Connection): boolean {
  return !isAnswering(connection)
}

/** Responds before closing, so that a caller does not take the limit for an outage. Nothing is read. */
function refuse(connection: Connection): void {
  connection.write(tooManyConnections)
  connection.destroySoon()
}

const tooManyConnections = rawRefusal()

function rawRefusal(): string {
  const { status, headers, body } = problem(
    'rate_limited',
    {
      detail: `More than ${CONNECTIONS_PER_ADDRESS_MAX} connections are open from this IP address. Reuse or close connections.`,
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
 * Handles the requests of one connection one after the other, each in its own turn of the event loop, so that a burst
 * does not delay other callers, and a request behind a closing response is neither processed nor charged.
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
      // Node assigns the socket when the previous response has been sent.
      reply.raw.once('socket', () => {
        waiting.set(connection, (waiting.get(connection) ?? 0) - 1)
        defer(done)
      })
    } else if (count === WAITING_MAX + 1) {
      // The last response of this connection. The request stays counted, so later ones are not processed.
      void reply.header('connection', 'close')
      sendProblem(reply, 'rate_limited', {
        detail: `More than ${WAITING_MAX} requests are pending on this connection. Read the responses first, or open another connection.`,
        retryAfterSeconds: 1,
      })
    } else {
      reply.hijack()
    }
  })
}

/**
 * On shutdown, closes each connection after its current response. Node would wait for callers that keep the connection open,
 * and `closeIdleConnections` would cut off responses that are still being sent.
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
