import type { FastifyReply, FastifyRequest } from 'fastify'
import { codingFor, compressed } from './content-coding.ts'

/**
 * The last hook before an answer leaves: compresses it for callers who accept that. What was charged for, stored and
 * signed is the answer itself, so this comes after the payment. Quotes and refusals are never compressed: a quote has
 * a secret beside what the caller sent, and its length would tell of it.
 */
export function compressAnswer(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  done: (error: Error | null, body?: unknown) => void,
): void {
  const { statusCode } = reply
  const isAnswer = statusCode === 200 && Buffer.isBuffer(payload)
  const coding =
    isAnswer || statusCode === 304
      ? codingFor(request.raw, isAnswer ? payload.length : Number.POSITIVE_INFINITY)
      : null
  if (coding !== null) weaken(reply)
  if (coding === null || !isAnswer) {
    done(null, payload)
    return
  }
  compressed(payload, coding, 'each time').then(
    (body) => {
      void reply.header('content-encoding', coding)
      done(null, body)
    },
    (error: unknown) => {
      // It may be paid for: better long than not at all.
      request.log.error({ err: error }, 'an answer was not compressed')
      done(null, payload)
    },
  )
}

/** The same answer in another coding, which a strong tag may not say (RFC 9110, 8.8.1). */
function weaken(reply: FastifyReply): void {
  const tag = reply.getHeader('etag')
  if (typeof tag === 'string' && !tag.startsWith('W/')) void reply.header('etag', `W/${tag}`)
}
