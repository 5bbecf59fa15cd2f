import type { FastifyReply } from 'fastify'

/** A complete response, as sent to a buyer, shared by copies of its payment and stored in the ledger. */
export type BufferedResponse = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** Headers of one exchange, or added again at each. */
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

/** @returns null for a stream or an empty response, which cannot be stored */
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
