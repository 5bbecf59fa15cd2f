import type { IncomingMessage } from 'node:http'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import Negotiator from 'negotiator'

/** A content coding of RFC 9110, 8.4.1, beside `identity`. */
export type Coding = 'br' | 'gzip'

/** What fits into one packet arrives no sooner for being smaller. */
const COMPRESSED_BYTES_MIN = 1_400

/** Its types are of before it took our order for what a caller likes equally well. */
type Preferring = {
  encodings(
    available: readonly string[],
    options: { readonly preferred: readonly string[] },
  ): string[]
}

const compressFirst = ['br', 'gzip', 'identity']
const identityFirst = ['identity', 'br', 'gzip']

/**
 * How a body is sent to a caller; null for as it is, also where the caller accepts nothing that we have, which
 * RFC 9110, 12.4.1, leaves to us.
 */
export function codingFor(request: IncomingMessage, bytes: number): Coding | null {
  // Of a request without the header all codings are acceptable, and nobody says that it can read them.
  if (request.headers['accept-encoding'] === undefined) return null
  const offered = bytes < COMPRESSED_BYTES_MIN ? identityFirst : compressFirst
  const [best] = (new Negotiator(request) as Preferring).encodings(offered, { preferred: offered })
  return best === 'br' || best === 'gzip' ? best : null
}

const asBrotli = promisify(brotliCompress)
const asGzip = promisify<Buffer, object, Buffer>(gzip)

/** `once`: for what is kept and sent often; `each time`: for an answer. In a thread of its own, either way. */
export function compressed(
  bytes: Buffer,
  coding: Coding,
  effort: 'once' | 'each time',
): Promise<Buffer> {
  if (coding === 'gzip') return asGzip(bytes, { level: effort === 'once' ? 9 : 1 })
  return asBrotli(bytes, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: effort === 'once' ? 9 : 2,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    },
  })
}
