import type { ServerResponse } from 'node:http'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { problem } from '../domain/problem.ts'
import { crossOriginHeaders, discoveryHeaders, securityHeaders } from './response-headers.ts'

/** Responds on the bare socket to input that is no valid request: oversized headers, no HTTP, or a time-out. */
export function refuseBrokenRequest(
  error: Error & { readonly code?: string },
  socket: Socket,
  requestId: string,
): void {
  if (error.code === 'ECONNRESET' || !socket.writable || isAnswering(socket)) {
    socket.destroy()
    return
  }
  const { status, headers, body } = brokenRequest(error.code, requestId)
  const lines = Object.entries({
    ...securityHeaders,
    ...discoveryHeaders,
    // The origin could not be read.
    ...crossOriginHeaders,
    ...headers,
    'content-length': String(Buffer.byteLength(body)),
    'x-request-id': requestId,
    connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  // Destroyed after the response is flushed; a client that still sends would see a reset instead.
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`, () =>
    socket.destroy(),
  )
}

/**
 * A request of this connection is being processed. A response now would be taken for its answer, and could deny a charge
 * that is about to happen. The processing of a POST begins with the end of its body; that of a GET does not wait for it.
 */
export function isAnswering(
  socket: Socket & { readonly _httpMessage?: ServerResponse | null },
): boolean {
  const response = socket._httpMessage
  if (response === undefined || response === null) return false
  const { method, complete } = response.req
  return method !== 'POST' || complete || response.headersSent
}

function brokenRequest(
  code: string | undefined,
  requestId: string,
): Pick<ReturnType<typeof problem>, 'status' | 'headers' | 'body'> {
  const request = { instance: '/', requestId }
  // A payment in it was not looked up.
  if (code === 'HPE_HEADER_OVERFLOW') {
    return problem(
      'header_too_large',
      {
        detail: 'The request line and headers exceed 16 KB. Send fewer or shorter headers.',
        charged: null,
      },
      request,
    )
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return { status: 408, headers: {}, body: '' }
  return problem(
    'invalid_parameter',
    { detail: 'The request is not valid HTTP/1.1.', param: 'request', charged: null },
    request,
  )
}
