import type { IncomingMessage } from 'node:http'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import Negotiator from 'negotiator'

/** Content codings of RFC 9110, 8.4.1. */
export type Coding = 'br' | 'gzip'

/** A body that fits into one packet is not compressed. */
const COMPRESSED_BYTES_MIN = 1_400

/** `options.preferred` is missing in the types of negotiator. */
type Preferring = {
  encodings(
    available: readonly string[],
    options: { readonly preferred: readonly string[] },
  ): string[]
}

const compressFirst = ['br', 'gzip', 'identity']
const identityFirst = ['identity', 'br', 'gzip']

/** The coding for a caller; null for identity, also if the caller accepts none of ours (RFC 9110, 12.4.1). */
export function codingFor(request: IncomingMessage, bytes: number): Coding | null {
  // Without the header every coding is acceptable, but the caller may not support it.
  if (request.headers['accept-encoding'] === undefined) return null
  const offered = bytes < COMPRESSED_BYTES_MIN ? identityFirst : compressFirst
  const [best] = (new Negotiator(request) as Preferring).encodings(offered, { preferred: offered })
  return best === 'br' || best === 'gzip' ? best : null
}

const asBrotli = promisify(brotliCompress)
const asGzip = promisify<Buffer, object, Buffer>(gzip)

/** Compresses in the thread pool. `once` for cached bodies, `each time` for answers. */
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
