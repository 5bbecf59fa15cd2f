import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { Document } from './document.ts'

/** A larger output is inflated in several pieces. The lookbacks of a coin's funding have 55 kB. */
const INFLATED_BYTES = 65_536

/**
 * A tail of documents in memory that threads share: 230 coins have 13 MB of text in tails, which few buyers read.
 * @param text ASCII
 */
export function tailOf(text: string): Uint8Array {
  const deflated = deflateRawSync(text)
  const tail = new Uint8Array(new SharedArrayBuffer(deflated.length))
  tail.set(deflated)
  return tail
}

/** All bytes of a document. */
export function bytesOf({ bytes, tail }: Pick<Document, 'bytes' | 'tail'>): Uint8Array {
  if (tail === undefined) return bytes
  const end = inflateRawSync(tail, { chunkSize: INFLATED_BYTES })
  const whole = new Uint8Array(bytes.length + end.length)
  whole.set(bytes)
  whole.set(end, bytes.length)
  return whole
}
