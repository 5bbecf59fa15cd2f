import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { discoveryHeaders } from './response-headers.ts'

/** A document that costs nothing and seldom changes. */
export type FreeDocument = {
  readonly mediaType: string
  readonly bytes: Buffer
  readonly entityTag: string
}

const AGE_SECONDS_MAX = 300

export function freeDocument(mediaType: string, content: string | Buffer): FreeDocument {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content
  const digest = createHash('sha256').update(bytes).digest('base64url').slice(0, 22)
  return { mediaType, bytes, entityTag: `"${digest}"` }
}

/** Answers with a document, or with 304 to whoever has it already. */
export function sendDocument(
  request: FastifyRequest,
  reply: FastifyReply,
  { mediaType, bytes, entityTag }: FreeDocument,
): void {
  void reply.headers({
    ...discoveryHeaders,
    'cache-control': `public, max-age=${AGE_SECONDS_MAX}`,
    vary: 'Origin',
    etag: entityTag,
  })
  if (isHeld(request.headers['if-none-match'], entityTag)) void reply.code(304).send()
  else void reply.type(mediaType).send(bytes)
}

/** The weak comparison of RFC 9110, 13.1.2. */
function isHeld(header: string | undefined, entityTag: string): boolean {
  if (header === undefined) return false
  const held = header.split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  return held.includes(entityTag) || held.includes('*')
}
