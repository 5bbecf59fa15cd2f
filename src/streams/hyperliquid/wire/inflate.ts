import { inflateRawSync } from 'node:zlib'

/** The full snapshot of 1,900 markets has 85 kB. */
const INFLATED_BYTES_MAX = 4 * 1024 * 1024
/** Most frames have two: growing the buffer takes longer than inflating. */
const CHUNK_BYTES = 4 * 1024
const OPTIONS = { maxOutputLength: INFLATED_BYTES_MAX, chunkSize: CHUNK_BYTES }

/**
 * @param data raw deflate (RFC 1951) in base64
 * @returns null for invalid or oversized data
 */
export function inflatedText(data: string): string | null {
  const deflated = Buffer.from(data, 'base64')
  try {
    return inflateRawSync(deflated, OPTIONS).toString('utf8')
  } catch {
    return null
  }
}
