import type { FastifyReply } from 'fastify'

/** A complete response, as it is sent, kept for copies of the same payment, and stored. */
export type BufferedResponse = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** Belong to one exchange, or are added anew at each. */
const notKept = new Set([
  'connection',
  'content-length',
  'date',
  'extension-responses',
  'keep-alive',
  'payment-response',
  'ratelimit',
  'ratelimit-policy',
  'server-timing',
  'set-cookie',
  'transfer-encoding',
  'x-payment-response',
  'x-request-id',
])

/** What is about to be sent, or null when it is no body of bytes: a stream, or nothing. */
export function bufferedResponse(reply: FastifyReply, payload: unknown): BufferedResponse | null {
  const body =
    typeof payload === 'string' ? Buffer.from(payload) : Buffer.isBuffer(payload) ? payload : null
  if (body === null) return null
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value === undefined || notKept.has(name)) continue
    headers[name] = Array.isArray(value) ? value.join(', ') : String(value)
  }
  return { status: reply.statusCode, headers, body }
}

export function sendBuffered(
  reply: FastifyReply,
  { status, headers, body }: BufferedResponse,
): FastifyReply {
  return reply.code(status).headers(headers).send(body)
}
