import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import type { Document } from '../src/domain/document.ts'
import { viewsOf, WHOLE_MARKET } from '../src/domain/document.ts'
import { joined } from '../src/link/broker/broker.ts'
import { decodeFrame, FrameEncoder } from '../src/link/broker/frame.ts'
import { standingMarket } from './support/discovery-gateway.ts'

/** The documents of a real engine, of every analysis. */
const { engine } = standingMarket()
const subjects = [...engine.coins(), WHOLE_MARKET]
const encoder = new FrameEncoder()

function frameOf(subject: string): Uint8Array {
  const documents = engine.documentsOf(subject)
  const total = documents.length
  return joined(
    encoder.encode({
      epoch: 1,
      sequence: 1,
      message: { kind: 'subject', subject, base: null, documents, total },
    }),
  )
}

/** The members that a reader uses; the objects of a rendering have others too. */
function membersOf(document: Document): unknown {
  const { key, version, renderedAtMs, nextUpdateMs, bytes, parts, views, numbered } = document
  const text = Buffer.from(bytes).toString('latin1')
  return { key, version, renderedAtMs, nextUpdateMs, text, parts, views, numbered }
}

describe('frames of real documents', () => {
  test.each(subjects)('carry %s unchanged', (subject) => {
    const documents = engine.documentsOf(subject)
    expect(documents.length).toBeGreaterThan(subject === WHOLE_MARKET ? 0 : 5)
    const decoded = decodeFrame(frameOf(subject))
    if (decoded?.message?.kind !== 'subject') throw new Error('it is not decoded')
    const received = decoded.message.documents
    expect(received.map(membersOf)).toEqual(documents.map(membersOf))
    expect(received.map(viewsOf)).toEqual(documents.map(viewsOf))
    // Memory of its own: neither shared, nor a part of the received buffer.
    for (const { bytes } of received) expect(bytes.buffer.byteLength).toBe(bytes.length)
  })

  test.prop([fc.constantFrom(...subjects), fc.nat(), fc.integer({ min: 1, max: 255 })])(
    'are refused if any byte differs',
    (subject, at, change) => {
      const bytes = frameOf(subject)
      const index = at % bytes.length
      bytes[index] = (bytes[index] ?? 0) ^ change
      expect(decodeFrame(bytes)).toBeNull()
    },
  )
})
