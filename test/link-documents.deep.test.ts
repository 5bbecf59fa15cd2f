import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import { viewsOf, WHOLE_MARKET } from '../src/domain/document.ts'
import { packDocument } from '../src/domain/packed-document.ts'
import { ownDocuments } from '../src/domain/placed-document.ts'
import { joined } from '../src/link/broker/broker.ts'
import { carriedFrom } from '../src/link/broker/carried-document.ts'
import { decodeFrame, FrameEncoder } from '../src/link/broker/frame.ts'
import { FrameReceiver } from '../src/link/broker/frame-receiver.ts'
import { EngineReplica } from '../src/link/engine-replica.ts'
import { membersOf } from '../src/link/testing/engine-messages.ts'
import { standingMarket } from './support/discovery-gateway.ts'

/** The documents of a real engine, of every analysis. */
const { engine } = standingMarket()
const subjects = [...engine.coins(), WHOLE_MARKET]
const encoder = new FrameEncoder()

function frameOf(subject: string): Uint8Array {
  const documents = ownDocuments(engine.documentsOf(subject)).map((document) =>
    carriedFrom(packDocument(document), undefined),
  )
  const total = documents.length + documents.filter(({ end }) => end !== undefined).length
  return joined(
    encoder.encode({
      epoch: 1,
      sequence: 1,
      message: { kind: 'subject', subject, base: null, documents, total },
    }),
  )
}

describe('frames of real documents', () => {
  test.each(subjects)('carry %s unchanged', (subject) => {
    const documents = ownDocuments(engine.documentsOf(subject))
    expect(documents.length).toBeGreaterThan(subject === WHOLE_MARKET ? 0 : 5)
    const replica = new EngineReplica({ analysis: 'pulse', view: '1h,4h' })
    const receiver = new FrameReceiver(replica, Date.now, () => performance.now())
    const frame = frameOf(subject)
    expect(receiver.receive(frame, 'channel')).toBe('applied')
    frame.fill(0)
    const received = ownDocuments(replica.documentsOf(subject))
    expect(received.map(membersOf)).toEqual(documents.map(membersOf))
    expect(received.map(viewsOf)).toEqual(documents.map(viewsOf))
  })

  test.prop([fc.constantFrom(...subjects), fc.nat(), fc.integer({ min: 1, max: 255 })])(
    'are refused if any byte differs',
    (subject, at, change) => {
      const bytes = frameOf(subject)
      const index = at % bytes.length
      bytes[index] = (bytes[index] ?? 0) ^ change
      expect(decodeFrame(bytes, 'channel')).toBeNull()
    },
  )
})
