import { crc32 } from 'node:zlib'
import type { Document, DocumentKey } from '../../domain/document.ts'
import { subjectOf } from '../../domain/document.ts'
import type { Listing } from '../../domain/listing.ts'
import { LISTINGS_MAX } from '../../domain/listing.ts'
import type { EngineMessage, Heartbeat } from '../message.ts'
import type { FramePosition } from './broker.ts'
import { ByteReader } from './byte-reader.ts'
import { ByteWriter } from './byte-writer.ts'
import { readDocument, writeDocument } from './document-codec.ts'

/**
 * Version of everything that a broker stores or carries. Gateways and engines of different formats do not read each
 * other's frames.
 */
export const LINK_FORMAT = 1

/** A message of the leading engine. `message` is null in a heartbeat of a leader whose engine has sent nothing new. */
export type CarrierFrame = FramePosition & { readonly message: CarriedMessage | null }

export type CarriedMessage = Exclude<EngineMessage, { readonly kind: 'documents' }>

/** The held document of the same epoch, key and version, which is then not read again. */
export type FindHeldOf = (
  key: DocumentKey,
  version: number,
  position: FramePosition,
) => Document | undefined

const kinds = ['subject', 'universe', 'heartbeat'] as const
const CHECKSUM_BYTES = 4

/**
 * Bytes of a frame: checksum of the rest (4), format (2), kind (1), epoch (8), sequence (8), and by kind the documents of
 * a subject, or JSON.
 */
export class FrameEncoder {
  readonly #writer = new ByteWriter()

  /** @returns bytes of their own */
  encode({ epoch, sequence, message }: CarrierFrame): Uint8Array {
    const to = this.#writer
    to.clear()
    to.u32(0)
    to.u16(LINK_FORMAT)
    to.u8(kinds.indexOf(message?.kind ?? 'heartbeat'))
    to.f64(epoch)
    to.f64(sequence)
    if (message?.kind === 'subject') {
      to.text(message.subject)
      to.u32(message.documents.length)
      for (const document of message.documents) writeDocument(to, document)
    } else if (message?.kind === 'universe') to.text(JSON.stringify(message.listings))
    else to.text(JSON.stringify(message?.heartbeat ?? null))
    to.u32At(0, crc32(to.written().subarray(CHECKSUM_BYTES)))
    return new Uint8Array(to.written())
  }
}

/** @returns null for bytes that are damaged or of another format */
export function decodeFrame(
  bytes: Uint8Array,
  findHeld: FindHeldOf = () => undefined,
): CarrierFrame | null {
  try {
    return frameFrom(new ByteReader(bytes), bytes, findHeld)
  } catch (cause) {
    if (cause instanceof RangeError || cause instanceof SyntaxError) return null
    throw cause
  }
}

function frameFrom(from: ByteReader, bytes: Uint8Array, findHeld: FindHeldOf): CarrierFrame | null {
  if (from.u32() !== crc32(bytes.subarray(CHECKSUM_BYTES))) return null
  if (from.u16() !== LINK_FORMAT) return null
  const kind = kinds[from.u8()]
  const position = { epoch: from.f64(), sequence: from.f64() }
  const message = kind === undefined ? undefined : messageFrom(from, kind, position, findHeld)
  if (message === undefined || from.left > 0) return null
  return { ...position, message }
}

/** @returns undefined for what is not a message */
function messageFrom(
  from: ByteReader,
  kind: (typeof kinds)[number],
  position: FramePosition,
  findHeld: FindHeldOf,
): CarriedMessage | null | undefined {
  if (kind === 'subject') {
    const subject = from.text()
    const documents: Document[] = []
    for (let left = from.count(1); left > 0; left -= 1)
      documents.push(readDocument(from, (key, version) => findHeld(key, version, position)))
    if (documents.some(({ key }) => subjectOf(key) !== subject)) return undefined
    return { kind, subject, documents }
  }
  const value: unknown = JSON.parse(from.text())
  if (kind === 'universe') return isListings(value) ? { kind, listings: value } : undefined
  if (value === null) return null
  return isHeartbeat(value) ? { kind, heartbeat: value } : undefined
}

function isListings(value: unknown): value is readonly Listing[] {
  const isListing = (item: Partial<Listing> | null) =>
    typeof item === 'object' && item !== null && typeof item.coin === 'string'
  return Array.isArray(value) && value.length <= LISTINGS_MAX && value.every(isListing)
}

function isHeartbeat(value: unknown): value is Heartbeat {
  if (typeof value !== 'object' || value === null) return false
  const { startedAtMs, feeds, sources, store, counts } = value as Partial<Heartbeat>
  return (
    typeof startedAtMs === 'number' &&
    Array.isArray(feeds) &&
    Array.isArray(sources) &&
    typeof store === 'object' &&
    typeof counts === 'object'
  )
}
