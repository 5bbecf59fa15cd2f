import { crc32 } from 'node:zlib'
import { subjectOf } from '../../domain/document.ts'
import type { Listing } from '../../domain/listing.ts'
import { LISTINGS_MAX } from '../../domain/listing.ts'
import type { EngineMessage, Heartbeat } from '../message.ts'
import type { FrameParts, FramePosition } from './broker.ts'
import { ByteReader } from './byte-reader.ts'
import { ByteWriter } from './byte-writer.ts'
import type { CarriedDocument } from './carried-document.ts'
import { carriedDocuments, documentParts } from './carried-document.ts'

/**
 * Version of everything that a broker stores or carries. Gateways and engines of different formats do not read each
 * other's frames. Every change here or of `Document` needs a new one.
 */
export const LINK_FORMAT = 6

/** A message of the leading engine. `message` is null in a heartbeat of a leader whose engine has sent nothing new. */
export type CarrierFrame = FramePosition & { readonly message: CarriedMessage | null }

export type CarriedMessage =
  | Exclude<EngineMessage, { readonly kind: 'documents' | 'subject' }>
  | SubjectChange

/** Documents of one coin or of the whole market. */
export type SubjectChange = {
  readonly kind: 'subject'
  readonly subject: string
  /** Sequence of the frame after which only these documents changed; null if the subject has no others. */
  readonly base: number | null
  readonly documents: readonly CarriedDocument[]
  /** How many parts the broker has of the subject after this change, the head not counted. */
  readonly total: number
}

/** `store`: what the broker has of a subject, which are all its documents. */
export type FrameSource = 'channel' | 'store'

const kinds = ['subject', 'universe', 'heartbeat'] as const
const PART_HEADER_BYTES = 8
/** In place of a base; sequences begin at 1. */
const NO_BASE = 0

/**
 * A frame consists of its head and its documents. Each part: length (4), checksum (4), content. Content of the head: format
 * (2), kind (1), epoch (8), sequence (8), and by kind the description of a {@link SubjectChange}, or JSON.
 */
export class FrameEncoder {
  readonly #writer = new ByteWriter()

  /** @returns bytes of their own */
  encode({ epoch, sequence, message }: CarrierFrame): FrameParts {
    const parts = message?.kind === 'subject' ? message.documents.flatMap(documentParts) : []
    const head = this.#part((to) => {
      to.u16(LINK_FORMAT)
      to.u8(kinds.indexOf(message?.kind ?? 'heartbeat'))
      to.f64(epoch)
      to.f64(sequence)
      if (message?.kind === 'subject') {
        to.text(message.subject)
        to.f64(message.base ?? NO_BASE)
        to.u32(parts.length)
        to.u32(message.total)
      } else if (message?.kind === 'universe') to.text(JSON.stringify(message.listings))
      else to.text(JSON.stringify(message?.heartbeat ?? null))
    })
    const documents = new Map(parts.map(({ key, write }) => [key, this.#part(write)]))
    return { head, documents }
  }

  #part(write: (to: ByteWriter) => void): Uint8Array {
    const to = this.#writer
    to.clear()
    to.u32(0)
    to.u32(0)
    write(to)
    const content = to.written().subarray(PART_HEADER_BYTES)
    to.u32At(0, content.length)
    to.u32At(4, crc32(content))
    return new Uint8Array(to.written())
  }
}

/** @returns null for bytes that are damaged or of another format */
export function decodeFrame(bytes: Uint8Array, source: FrameSource): CarrierFrame | null {
  try {
    return frameFrom(partsOf(bytes), source)
  } catch (cause) {
    if (cause instanceof RangeError || cause instanceof SyntaxError) return null
    throw cause
  }
}

/** @throws RangeError for a part that is damaged */
function partsOf(bytes: Uint8Array): readonly ByteReader[] {
  const from = new ByteReader(bytes)
  const parts: ByteReader[] = []
  while (from.left > 0) {
    const [length, checksum] = [from.u32(), from.u32()]
    const content = from.view(length)
    if (crc32(content) !== checksum) throw new RangeError(`part ${parts.length} is damaged`)
    // One copy for each part, so that the received buffer can be freed.
    parts.push(new ByteReader(new Uint8Array(content)))
  }
  return parts
}

function frameFrom(
  [head, ...parts]: readonly ByteReader[],
  source: FrameSource,
): CarrierFrame | null {
  if (head === undefined || head.u16() !== LINK_FORMAT) return null
  const kind = kinds[head.u8()]
  const position = { epoch: head.f64(), sequence: head.f64() }
  if (kind === 'subject') {
    const message = changeFrom(head, parts, source)
    return message === null || head.left > 0 ? null : { ...position, message }
  }
  const message = kind === undefined ? undefined : messageFrom(head, kind)
  if (message === undefined || head.left > 0 || parts.length > 0) return null
  return { ...position, message }
}

function changeFrom(
  head: ByteReader,
  parts: readonly ByteReader[],
  source: FrameSource,
): SubjectChange | null {
  const subject = head.text()
  const [base, carried, total] = [head.f64(), head.u32(), head.u32()]
  if (parts.length !== (source === 'store' ? total : carried)) return null
  const documents = carriedDocuments(parts)
  if (documents.some(({ key }) => subjectOf(key) !== subject)) return null
  const isWhole = source === 'store' || base === NO_BASE
  return { kind: 'subject', subject, base: isWhole ? null : base, documents, total }
}

/** @returns undefined for what is not a message */
function messageFrom(
  from: ByteReader,
  kind: 'universe' | 'heartbeat',
): Exclude<CarriedMessage, SubjectChange> | null | undefined {
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
