import { crc32 } from 'node:zlib'
import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import { documentKey } from '../../domain/document.ts'
import { STORE_OK } from '../testing/store-ok.ts'
import { joined } from './broker.ts'
import type { CarriedDocument } from './carried-document.ts'
import type { CarrierFrame } from './frame.ts'
import { decodeFrame, FrameEncoder, LINK_FORMAT } from './frame.ts'

const SUBJECT = 'kPEPE'

const bytes = fc.uint8Array({ maxLength: 60 })
const documents: fc.Arbitrary<readonly CarriedDocument[]> = fc.uniqueArray(
  fc.record({
    key: fc.stringMatching(/^[a-z-]{1,12}$/).map((analysis) => documentKey(analysis, SUBJECT)),
    version: fc.maxSafeNat(),
    renderedAtMs: fc.double(),
    answered: bytes,
    content: fc.record({ factsLength: fc.nat(), length: fc.nat(), bytes }),
    end: fc.oneof(bytes, fc.constant('held' as const), fc.constant(undefined)),
  }),
  { maxLength: 4, selector: ({ key }) => key },
)
/** Of the documents and of their ends. */
const partsOf = (all: readonly CarriedDocument[]) =>
  all.length + all.filter(({ end }) => end !== undefined && end !== 'held').length
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
    const sent = encoded(frame)
    const decoded = decodeFrame(sent, 'channel')
    sent.fill(0)
    expect(decoded).toEqual(frame)
  })

  test.prop([frames, fc.nat(), fc.integer({ min: 1, max: 255 })])(
    'is refused if any byte differs',
    (frame, at, change) => {
      const sent = encoded(frame)
      const index = at % sent.length
      sent[index] = (sent[index] ?? 0) ^ change
      expect(decodeFrame(sent, 'channel')).toBeNull()
    },
  )

  test.prop([frames, fc.nat()])('is refused if its end is missing', (frame, length) => {
    const sent = encoded(frame)
    expect(decodeFrame(sent.subarray(0, length % sent.length), 'channel')).toBeNull()
  })

  test.prop([frames, fc.nat(8)])(
    'that the broker stores has all parts, or is refused',
    (frame, total) => {
      if (frame.message?.kind !== 'subject') throw new Error('all are of a subject')
      const message = { ...frame.message, total }
      const stored = decodeFrame(encoded({ ...frame, message }), 'store')
      const isWhole = partsOf(message.documents) === total
      expect(stored).toEqual(isWhole ? { ...frame, message: { ...message, base: null } } : null)
    },
  )

  test.prop([frames])('can have its parts in any order after the head', (frame) => {
    const { head, documents: parts } = encoder.encode(frame)
    const reversed = Buffer.concat([head, ...[...parts.values()].reverse()])
    const decoded = decodeFrame(reversed, 'channel')
    if (frame.message?.kind !== 'subject') throw new Error('all are of a subject')
    if (decoded?.message?.kind !== 'subject') throw new Error('it is refused')
    expect(decoded.message.documents.toReversed()).toEqual(frame.message.documents)
  })

  test.prop([frames, fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 })])(
    'with wrong content and right checksums never throws',
    (frame, changes) => {
      const { head, documents: parts } = encoder.encode(frame)
      const all = [head, ...parts.values()]
      for (const [at, value] of changes) {
        const part = all[at % all.length] ?? head
        part[8 + (at % (part.length - 8))] = value
      }
      const sent = Buffer.concat(all.map(withChecksum))
      expect(() => decodeFrame(sent, 'channel')).not.toThrow()
    },
  )

  test.prop([fc.uint8Array({ maxLength: 100 })])('of any bytes never throws', (any) => {
    const part = withChecksum(Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, LINK_FORMAT, 0, 0, ...any))
    expect(() => decodeFrame(part, 'channel')).not.toThrow()
  })

  test('of another format is refused', () => {
    const sent = encoded({ epoch: 1, sequence: 1, message: null })
    sent[8] = LINK_FORMAT + 1
    expect(decodeFrame(withChecksum(sent), 'channel')).toBeNull()
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
    expect(sent.map((frame) => decodeFrame(encoded(frame), 'channel'))).toEqual(sent)
  })
})

/** A part with the length and the checksum of its content. */
function withChecksum(part: Uint8Array): Uint8Array {
  const header = new DataView(part.buffer, part.byteOffset)
  header.setUint32(0, part.length - 8, true)
  header.setUint32(4, crc32(part.subarray(8)), true)
  return part
}
