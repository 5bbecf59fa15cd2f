import type { FastifyError, FastifyInstance } from 'fastify'

const BODY_BYTES_MAX = 64 * 1_024
const INVALID_REQUEST = -32_600
const PARSE_ERROR = -32_700

/**
 * Routes whose messages are JSON-RPC. They are given the body as text, and what is wrong with a request is
 * told in the words of that protocol.
 */
export function jsonRpcScope(app: FastifyInstance, routes: (scope: FastifyInstance) => void): void {
  void app.register((scope, _, done) => {
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

/** @returns the message, or the error to answer with, status 400 */
export function parsedMessage(
  text: unknown,
): { readonly message: Readonly<Record<string, unknown>> } | { readonly error: object } {
  let message: unknown
  try {
    message = JSON.parse(String(text ?? ''))
  } catch {
    return { error: jsonRpcError(PARSE_ERROR, 'The body is no JSON.') }
  }
  if (typeof message !== 'object' || message === null || Array.isArray(message))
    return { error: jsonRpcError(INVALID_REQUEST, 'The body is no single JSON-RPC request.') }
  return { message: message as Readonly<Record<string, unknown>> }
}

function jsonRpcError(code: number, message: string): object {
  return { jsonrpc: '2.0', error: { code, message }, id: null }
}
