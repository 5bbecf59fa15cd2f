import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isNamedBy } from '../payment/entity-tag.ts'
import type { Coding } from './content-coding.ts'
import { codingFor, compressed } from './content-coding.ts'
import { discoveryHeaders } from './response-headers.ts'

/** A free document that rarely changes. */
export type FreeDocument = {
  readonly mediaType: string
  readonly length: number
  bytes(): Buffer
  readonly entityTag: string
  /** Compressed on first use. */
  readonly coded: Map<Coding, Promise<Buffer>>
}

const AGE_SECONDS_MAX = 300
const VARY = 'Origin, Accept-Encoding'

/** What was compressed in advance: the bytes themselves are made for the first caller that takes no such coding. */
export type PackedContent = {
  bytes(): Buffer
  readonly coded: Readonly<Partial<Record<Coding, Buffer>>>
}

export function freeDocument(
  mediaType: string,
  content: string | Buffer | PackedContent,
): FreeDocument {
  const isPacked = typeof content === 'object' && 'coded' in content
  const whole = isPacked ? content.bytes() : content
  const bytes = typeof whole === 'string' ? Buffer.from(whole) : whole
  const digest = createHash('sha256').update(bytes).digest('base64url').slice(0, 22)
  const known = Object.entries(isPacked ? content.coded : {}) as [Coding, Buffer][]
  return {
    mediaType,
    length: bytes.length,
    bytes: isPacked ? unpackedOnce(content.bytes) : () => bytes,
    entityTag: `"${digest}"`,
    coded: new Map(known.map(([coding, body]) => [coding, Promise.resolve(body)])),
  }
}

/** Unpacking the largest file takes milliseconds, which a caller could ask for again and again. */
function unpackedOnce(unpack: () => Buffer): () => Buffer {
  let kept: Buffer | undefined
  return () => {
    kept ??= unpack()
    return kept
  }
}

type Caching = {
  readonly cacheControl?: string
  /** A request header that selects the document. */
  readonly vary?: string
}

/** Answers with a document, or with 304 if the caller has it. */
export function sendDocument(
  request: FastifyRequest,
  reply: FastifyReply,
  document: FreeDocument,
  { cacheControl = `public, max-age=${AGE_SECONDS_MAX}`, vary }: Caching = {},
): void {
  const { mediaType, length } = document
  const coding = codingFor(request.raw, length)
  const entityTag = tagOf(document, coding)
  void reply.headers({
    ...discoveryHeaders,
    'cache-control': cacheControl,
    vary: vary === undefined ? VARY : `${vary}, ${VARY}`,
    etag: entityTag,
  })
  if (isNamedBy(request.headers['if-none-match'], entityTag)) {
    void reply.code(304).send()
    return
  }
  void reply.type(mediaType)
  if (coding === null) void reply.send(document.bytes())
  else
    codedBytes(document, coding).then(
      (body) => reply.header('content-encoding', coding).send(body),
      (cause) => reply.send(cause),
    )
}

/** Each coding is a representation of its own (RFC 9110, 8.8.3.3). */
function tagOf({ entityTag }: FreeDocument, coding: Coding | null): string {
  return coding === null ? entityTag : `${entityTag.slice(0, -1)}-${coding}"`
}

function codedBytes({ bytes, coded }: FreeDocument, coding: Coding): Promise<Buffer> {
  const kept = coded.get(coding)
  if (kept !== undefined) return kept
  const made = compressed(bytes(), coding, 'once')
  coded.set(coding, made)
  // The next caller tries again.
  made.catch(() => coded.delete(coding))
  return made
}
