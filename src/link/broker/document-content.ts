import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { PackedDocument } from '../../domain/packed-document.ts'

/** What a reader needs of a document beside its end: facts, then head, deflated. */
export type DocumentContent = {
  readonly factsLength: number
  /** Of both before they were deflated. */
  readonly length: number
  readonly bytes: Uint8Array
}

/** Higher levels take longer than they save. zlib takes 96 KiB for a document instead of 256. */
const FAST = { level: 1, windowBits: 14, memLevel: 6 } as const
const CHUNK_BYTES_MIN = 64

export function contentOf({
  content,
  factsLength,
}: Pick<PackedDocument, 'content' | 'factsLength'>): DocumentContent {
  const { length } = content
  // Almost all are shorter than half.
  const chunkSize = Math.max(CHUNK_BYTES_MIN, length >> 1)
  const bytes = deflateRawSync(content, { ...FAST, chunkSize })
  return { factsLength, length, bytes }
}

export function readContent({
  factsLength,
  length,
  bytes,
}: DocumentContent): Pick<PackedDocument, 'content' | 'factsLength'> {
  // One more than it fills, because zlib takes another chunk for a full one.
  const chunkSize = Math.max(CHUNK_BYTES_MIN, length + 1)
  const { buffer, byteOffset } = inflateRawSync(bytes, { chunkSize })
  return { content: new Uint8Array(buffer, byteOffset, length), factsLength }
}
