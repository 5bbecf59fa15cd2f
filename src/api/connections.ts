import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { sendProblem } from './send-problem.ts'

const HEADERS_MAX = 100
const CONNECTIONS_MAX = 1_000
/** Whoever sends more before an answer is read could have thousands rendered by one packet. */
const WAITING_MAX = 64

/** Node keeps there which response a connection is at work on: to count every request would cost every read. */
type Connection = Socket & { readonly _httpMessage?: ServerResponse | null }

/** What the options of Fastify do not bound. */
export function limitConnections(app: FastifyInstance): void {
  app.server.maxHeadersCount = HEADERS_MAX
  app.server.maxConnections = CONNECTIONS_MAX
  limitWaiting(app)
}

/** Requests of one connection are answered in turn; what comes meanwhile waits, with its answer. */
function limitWaiting(app: FastifyInstance): void {
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
      reply.raw.once('close', () => waiting.set(connection, (waiting.get(connection) ?? 0) - 1))
      done()
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
