import { crc32 } from 'node:zlib'
import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import type { Document } from '../../domain/document.ts'
import { bytesOf } from '../../domain/document.ts'
import { arbitraryDocument } from '../testing/arbitrary-document.ts'
import { STORE_OK } from '../testing/store-ok.ts'
import { joined } from './broker.ts'
import type { CarrierFrame } from './frame.ts'
import { decodeFrame, FrameEncoder, LINK_FORMAT } from './frame.ts'

const SUBJECT = 'kPEPE'

const documents = fc.uniqueArray(arbitraryDocument(SUBJECT), {
  maxLength: 4,
  selector: ({ key }) => key,
})
const frames: fc.Arbitrary<CarrierFrame> = fc.record({
  epoch: fc.maxSafeNat(),
  sequence: fc.maxSafeNat(),
  message: fc.record({
    kind: fc.constant('subject' as const),
    subject: fc.constant(SUBJECT),
    base: fc.option<number, null>(fc.integer({ min: 1 })),
    documents,
    total: fc.nat(100),
  }),
})

const encoder = new FrameEncoder()
const encoded = (frame: CarrierFrame) => joined(encoder.encode(frame))

describe('frame', () => {
  test.prop([frames])('carries documents unchanged, in memory of their own', (frame) => {
    const bytes = encoded(frame)
    const decoded = decodeFrame(bytes)
    bytes.fill(0)
    expect(decoded).toEqual(frame)
  })

  test.prop([frames, fc.uint8Array({ minLength: 1, maxLength: 20 })])(
    'carries the bytes that documents of an hour share as those of the document',
    (frame, tail) => {
      if (frame.message?.kind !== 'subject') throw new Error('all are of a subject')
      const { message } = frame
      const shared = message.documents.map((document) => ({ ...document, tail }))
      const carried = decodeFrame(
        encoded({ ...frame, message: { ...message, documents: shared } }),
      )?.message
      if (carried?.kind !== 'subject') throw new Error('the frame is refused')
      expect(carried.documents.map(({ bytes }) => bytes)).toEqual(shared.map(bytesOf))
    },
  )

  test.prop([frames, fc.nat(), fc.integer({ min: 1, max: 255 })])(
    'is refused if any byte differs',
    (frame, at, change) => {
      const bytes = encoded(frame)
      const index = at % bytes.length
      bytes[index] = (bytes[index] ?? 0) ^ change
      expect(decodeFrame(bytes)).toBeNull()
    },
  )

  test.prop([frames, fc.nat()])('is refused if its end is missing', (frame, length) => {
    const bytes = encoded(frame)
    expect(decodeFrame(bytes.subarray(0, length % bytes.length))).toBeNull()
  })

  test.prop([frames, fc.nat(100)])(
    'that the broker stores has all documents, or is refused',
    (frame, total) => {
      if (frame.message?.kind !== 'subject') throw new Error('all are of a subject')
      const message = { ...frame.message, total }
      const stored = decodeFrame(encoded({ ...frame, message }), 'store')
      const isWhole = message.documents.length === total
      expect(stored).toEqual(isWhole ? { ...frame, message: { ...message, base: null } } : null)
    },
  )

  test.prop([frames, fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 })])(
    'with wrong content and right checksums never throws, and holds no range outside its bytes',
    (frame, changes) => {
      const { head, documents: parts } = encoder.encode(frame)
      const all = [head, ...parts.values()]
      for (const [at, value] of changes) {
        const part = all[at % all.length] ?? head
        part[8 + (at % (part.length - 8))] = value
      }
      expect(isSafe(decodeFrame(Buffer.concat(all.map(withChecksum))))).toBe(true)
    },
  )

  test.prop([fc.uint8Array({ maxLength: 100 })])('of any bytes never throws', (bytes) => {
    const part = Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, LINK_FORMAT, 0, 0, ...bytes)
    expect(isSafe(decodeFrame(withChecksum(part)))).toBe(true)
  })

  test('of another format is refused', () => {
    const bytes = encoded({ epoch: 1, sequence: 1, message: null })
    bytes[8] = LINK_FORMAT + 1
    expect(decodeFrame(withChecksum(bytes))).toBeNull()
  })

  test('carries the list of coins and the heartbeat', () => {
    const listings = [
      {
        coin: 'dex:ÄB',
        sizeDecimals: 2,
        maxLeverage: 3,
        marginTiers: [{ lowerBoundUsd: 0, maxLeverage: 3 }],
        isDelisted: false,
      },
    ]
    const heartbeat = { startedAtMs: 5, feeds: [], sources: [], store: STORE_OK, counts: { a: 1 } }
    const sent: CarrierFrame[] = [
      { epoch: 1, sequence: 1, message: { kind: 'universe', listings } },
      { epoch: 1, sequence: 2, message: { kind: 'heartbeat', heartbeat } },
      { epoch: 1, sequence: 3, message: null },
    ]
    expect(sent.map((frame) => decodeFrame(encoded(frame)))).toEqual(sent)
  })

  test('reuses the held document of the same version', () => {
    const [held, changed] = [plain('pulse/BTC', 7), plain('spread/BTC', 8)]
    const documents = [held, changed]
    const message = { kind: 'subject', subject: 'BTC', base: null, documents, total: 2 } as const
    const decoded = decodeFrame(
      encoded({ epoch: 3, sequence: 1, message }),
      'channel',
      (key, version) => (key === 'pulse/BTC' && version === 7 ? held : undefined),
    )
    const received = decoded?.message?.kind === 'subject' ? decoded.message.documents : []
    expect(received[0]).toBe(held)
    expect(received[1]).toEqual(changed)
    expect(received[1]).not.toBe(changed)
  })
})

/** A part with the length and the checksum of its content. */
function withChecksum(part: Uint8Array): Uint8Array {
  const header = new DataView(part.buffer, part.byteOffset)
  header.setUint32(0, part.length - 8, true)
  header.setUint32(4, crc32(part.subarray(8)), true)
  return part
}

/** Whether every range and index of the documents exists. */
function isSafe(frame: CarrierFrame | null): boolean {
  if (frame?.message?.kind !== 'subject') return true
  return frame.message.documents.every(({ bytes, parts, views, numbered }) => {
    const areInside = parts.every((part) => {
      if (part.kind === 'text') return part.start <= part.end && part.end <= bytes.length
      if (part.kind === 'choice')
        return [...(numbered?.outcomeOf ?? [])].every(
          (outcome, view) =>
            'kind' in (numbered?.outcomes[outcome] ?? {}) ||
            (part.ends[view] ?? Number.NaN) <= bytes.length,
        )
      if (part.kind === 'run')
        return parts.slice(part.from, part.to).every(({ kind }) => kind !== 'run')
      return true
    })
    const named = [numbered?.parts ?? [], ...Object.values(views).map((view) => partsOf(view))]
    return areInside && named.flat().every((index) => parts[index] !== undefined)
  })
}

function partsOf(view: Document['views'][string]): readonly number[] {
  return view.kind === 'answer' ? view.parts : []
}

function plain(key: Document['key'], version: number): Document {
  return {
    key,
    version,
    renderedAtMs: version,
    bytes: Uint8Array.of(123, 125),
    parts: [],
    views: {},
  }
}
