import type { FastifyError, FastifyInstance } from 'fastify'
import { parsedJson } from '../domain/json.ts'
import { callerKey } from '../payment/rate-limit.ts'
import type { FairQueue } from './fair-queue.ts'

/** A JSON-RPC message: a request, a notification or a response. */
export type JsonRpcMessage = Readonly<Record<string, unknown>>

const BODY_BYTES_MAX = 64 * 1_024
/** JSON.stringify and structuredClone overflow the stack at some thousand levels; a payment has fewer than 20. */
const LEVELS_MAX = 64
const INVALID_REQUEST = -32_600
const INVALID_PARAMS = -32_602
const PARSE_ERROR = -32_700
/** First code of the range that JSON-RPC reserves for servers. */
const TOO_MANY_CALLS = -32_000
const RETRY_SECONDS = 1

/** Maximum number of open calls of an IP address, queued or running, on all JSON-RPC routes; `calls` enforces it. */
export const JSON_RPC_CALLS_MAX = 64

/**
 * Scope of JSON-RPC routes. Bodies arrive as text, and errors are JSON-RPC errors. A call costs ten times a plain
 * request, so calls are queued in `calls`.
 */
export function jsonRpcScope(
  app: FastifyInstance,
  calls: FairQueue,
  routes: (scope: FastifyInstance) => void,
): void {
  void app.register((scope, _, done) => {
    scope.addHook('onRequest', (request, reply, start) => {
      const leave = calls.enter(callerKey(request.ip), start)
      if (leave !== null) {
        reply.raw.once('close', leave)
        return
      }
      const detail = `This IP address has ${JSON_RPC_CALLS_MAX} open calls, the maximum. Nothing was charged for this one. Retry in ${RETRY_SECONDS} s.`
      void reply
        .code(429)
        .headers({ 'cache-control': 'no-store', 'retry-after': RETRY_SECONDS })
        .send(jsonRpcError(TOO_MANY_CALLS, detail))
    })
    scope.removeAllContentTypeParsers()
    const reading = { parseAs: 'string', bodyLimit: BODY_BYTES_MAX } as const
    scope.addContentTypeParser('*', reading, (_request, text, read) => read(null, text))
    scope.setErrorHandler((error: FastifyError, _request, reply) => {
      const { statusCode = 500, message } = error
      if (statusCode >= 500) throw error
      return reply
        .code(statusCode)
        .header('cache-control', 'no-store')
        .send(jsonRpcError(INVALID_REQUEST, message))
    })
    routes(scope)
    done()
  })
}

/**
 * Parses one message. Batches are refused: one request could start any number of calls, and MCP removed batches in
 * revision 2025-06-18.
 * @returns the message, or the error to answer with status 400
 */
export function parsedMessage(
  text: unknown,
): { readonly message: JsonRpcMessage } | { readonly error: object } {
  const message = parsedJson(String(text ?? ''))
  if (message === undefined)
    return { error: jsonRpcError(PARSE_ERROR, 'The message is not valid JSON.') }
  if (Array.isArray(message)) {
    const detail =
      'Batches are not supported (MCP removed them in 2025-06-18). Send one message per request.'
    return { error: invalidRequest(detail) }
  }
  if (typeof message !== 'object' || message === null)
    return { error: invalidRequest('The message is not a JSON object.') }
  const { jsonrpc, id } = message as JsonRpcMessage
  if (jsonrpc !== '2.0')
    return { error: invalidRequest('The message has no "jsonrpc": "2.0".', id) }
  if (isDeeperThan(message, LEVELS_MAX))
    return { error: invalidRequest(`The message has more than ${LEVELS_MAX} levels.`, id) }
  return { message: message as JsonRpcMessage }
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((member) => isDeeperThan(member, levels - 1))
}

/** @param id of the message as received; an invalid one becomes null */
export function invalidRequest(detail: string, id?: unknown): object {
  return jsonRpcError(INVALID_REQUEST, detail, isRequestId(id) ? id : null)
}

/** @param id of a message that {@link isRequestId} accepts */
export function invalidParams(detail: string, id: string | number): object {
  return jsonRpcError(INVALID_PARAMS, detail, id)
}

/** JSON-RPC discourages fractions, and neither SDK takes them. */
export function isRequestId(id: unknown): id is string | number {
  return typeof id === 'string' || Number.isInteger(id)
}

function jsonRpcError(code: number, message: string, id: string | number | null = null): object {
  return { jsonrpc: '2.0', error: { code, message }, id }
}
