import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { PackedDocument } from '../../domain/packed-document.ts'
import type { ByteWriter } from './byte-writer.ts'

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

/** @param scratch is overwritten: a new buffer for each document makes V8 collect more often */
export function contentOf(
  { facts, head }: Pick<PackedDocument, 'facts' | 'head'>,
  scratch: ByteWriter,
): DocumentContent {
  scratch.clear()
  scratch.append(facts)
  scratch.append(head)
  const { length } = scratch
  // Almost all are shorter than half.
  const chunkSize = Math.max(CHUNK_BYTES_MIN, length >> 1)
  const bytes = deflateRawSync(scratch.written(), { ...FAST, chunkSize })
  return { factsLength: facts.length, length, bytes }
}

export function readContent({
  factsLength,
  length,
  bytes,
}: DocumentContent): Pick<PackedDocument, 'facts' | 'head'> {
  // One more than it fills, because zlib takes another chunk for a full one.
  const chunkSize = Math.max(CHUNK_BYTES_MIN, length + 1)
  const { buffer, byteOffset } = inflateRawSync(bytes, { chunkSize })
  return {
    facts: new Uint8Array(buffer, byteOffset, factsLength),
    head: new Uint8Array(buffer, byteOffset + factsLength, length - factsLength),
  }
}
