import type { FastifyReply, FastifyRequest } from 'fastify'
import { codingFor, compressed } from './content-coding.ts'

/**
 * Last hook of an answer: compresses it if the caller accepts that. It runs after the payment, which stores and signs
 * the uncompressed answer. Quotes are not compressed: they contain a secret next to caller input (BREACH).
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
      // It may be paid for, so it is sent uncompressed.
      request.log.error({ err: error }, 'compression of an answer failed')
      done(null, payload)
    },
  )
}

/** A strong entity tag would not cover both codings (RFC 9110, 8.8.1). */
function weaken(reply: FastifyReply): void {
  const tag = reply.getHeader('etag')
  if (typeof tag === 'string' && !tag.startsWith('W/')) void reply.header('etag', `W/${tag}`)
}
