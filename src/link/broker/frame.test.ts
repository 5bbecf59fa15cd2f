import { crc32 } from 'node:zlib'
import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import type { Document } from '../../domain/document.ts'
import { bytesOf } from '../../domain/document.ts'
import { arbitraryDocument } from '../testing/arbitrary-document.ts'
import { STORE_OK } from '../testing/store-ok.ts'
import type { CarrierFrame } from './frame.ts'
import { decodeFrame, FrameEncoder } from './frame.ts'

const SUBJECT = 'kPEPE'

const documents = fc.uniqueArray(arbitraryDocument(SUBJECT), {
  maxLength: 4,
  selector: ({ key }) => key,
})
const frames: fc.Arbitrary<CarrierFrame> = fc.record({
  epoch: fc.maxSafeNat(),
  sequence: fc.maxSafeNat(),
  message: documents.map((made) => ({ kind: 'subject', subject: SUBJECT, documents: made })),
})

const encoder = new FrameEncoder()

describe('frame', () => {
  test.prop([frames])('carries documents unchanged, in memory of their own', (frame) => {
    const bytes = encoder.encode(frame)
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
        encoder.encode({ ...frame, message: { ...message, documents: shared } }),
      )?.message
      if (carried?.kind !== 'subject') throw new Error('the frame is refused')
      expect(carried.documents.map(({ bytes }) => bytes)).toEqual(shared.map(bytesOf))
    },
  )

  test.prop([frames, fc.nat(), fc.integer({ min: 1, max: 255 })])(
    'is refused if any byte differs',
    (frame, at, change) => {
      const bytes = encoder.encode(frame)
      const index = at % bytes.length
      bytes[index] = (bytes[index] ?? 0) ^ change
      expect(decodeFrame(bytes)).toBeNull()
    },
  )

  test.prop([frames, fc.nat()])('is refused if its end is missing', (frame, length) => {
    const bytes = encoder.encode(frame)
    expect(decodeFrame(bytes.subarray(0, length % bytes.length))).toBeNull()
  })

  test.prop([frames, fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 })])(
    'with wrong content and a right checksum never throws, and holds no range outside its bytes',
    (frame, changes) => {
      const bytes = encoder.encode(frame)
      for (const [at, value] of changes) bytes[4 + (at % (bytes.length - 4))] = value
      expect(isSafe(decodeFrame(withChecksum(bytes)))).toBe(true)
    },
  )

  test.prop([fc.uint8Array({ maxLength: 100 })])('of any bytes never throws', (bytes) => {
    expect(isSafe(decodeFrame(withChecksum(Uint8Array.of(0, 0, 0, 0, 1, 0, 0, ...bytes))))).toBe(
      true,
    )
  })

  test('of another format is refused', () => {
    const bytes = encoder.encode({ epoch: 1, sequence: 1, message: null })
    bytes[4] = 2
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
    expect(sent.map((frame) => decodeFrame(encoder.encode(frame)))).toEqual(sent)
  })

  test('reuses the held document of the same version', () => {
    const [held, changed] = [plain('pulse/BTC', 7), plain('spread/BTC', 8)]
    const message = { kind: 'subject', subject: 'BTC', documents: [held, changed] } as const
    const decoded = decodeFrame(
      encoder.encode({ epoch: 3, sequence: 1, message }),
      (key, version) => (key === 'pulse/BTC' && version === 7 ? held : undefined),
    )
    const received = decoded?.message?.kind === 'subject' ? decoded.message.documents : []
    expect(received[0]).toBe(held)
    expect(received[1]).toEqual(changed)
    expect(received[1]).not.toBe(changed)
  })
})

function withChecksum(bytes: Uint8Array): Uint8Array {
  new DataView(bytes.buffer, bytes.byteOffset).setUint32(0, crc32(bytes.subarray(4)), true)
  return bytes
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
