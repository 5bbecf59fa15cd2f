import type { FastifyReply, FastifyRequest } from 'fastify'
import { codingFor, compressed } from './content-coding.ts'

/**
 * The last hook before an answer leaves: compresses it for callers who accept that. What was charged for, stored and
 * signed is the answer itself, so this comes after the payment. Quotes and refusals are never compressed: a quote has
 * a secret beside what the caller sent, and its length would tell of it.
 */
export async function compressAnswer(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): Promise<unknown> {
  const { statusCode } = reply
  const isAnswer = statusCode === 200 && Buffer.isBuffer(payload)
  if (!isAnswer && statusCode !== 304) return payload
  const coding = codingFor(request.raw, isAnswer ? payload.length : Number.POSITIVE_INFINITY)
  if (coding === null) return payload
  weaken(reply)
  if (!isAnswer) return payload
  try {
    const body = await compressed(payload, coding, 'each time')
    void reply.header('content-encoding', coding)
    return body
  } catch (error) {
    // It may be paid for: better long than not at all.
    request.log.error({ err: error }, 'an answer was not compressed')
    return payload
  }
}

/** The same answer in another coding, which a strong tag may not say (RFC 9110, 8.8.1). */
function weaken(reply: FastifyReply): void {
  const tag = reply.getHeader('etag')
  if (typeof tag === 'string' && !tag.startsWith('W/')) void reply.header('etag', `W/${tag}`)
}
