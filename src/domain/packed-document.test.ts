import { describe, expect, test } from 'vitest'
import type { Document } from './document.ts'
import { bytesOf, tailOf } from './document-bytes.ts'
import { hasAnswerIn, PackedDocument, packDocument } from './packed-document.ts'

const NOW_MS = Date.UTC(2026, 0, 1)

describe('a packed document', () => {
  test('has the members of the document', () => {
    expect(membersOf(packDocument(ranged()))).toEqual(ranged())
  })

  test('has them in another thread', () => {
    const cloned = new PackedDocument(structuredClone(packDocument(ranged())))
    expect(membersOf(cloned)).toEqual(ranged())
  })

  test('has its bytes and its tail as one', () => {
    const tail = tailOf('[2]')
    const packed = new PackedDocument(structuredClone(packDocument({ ...ranged(), tail })))
    expect(new TextDecoder().decode(packed.bytes)).toBe('{"é":1}[2]')
    expect(bytesOf(packed)).toEqual(packed.bytes)
  })

  test('has its identity beside its facts alone', () => {
    const facts = new TextDecoder().decode(packDocument(ranged()).facts)
    expect(facts).not.toContain('funding/BTC')
    expect(facts).not.toContain(String(ranged().renderedAtMs))
  })

  test('says of each view whether it has an answer, as the document does', () => {
    const packed = new PackedDocument(structuredClone(packDocument(ranged())))
    for (const key of [...Object.keys(ranged().views), 'unknown'])
      expect(hasAnswerIn(packed, key), key).toBe(hasAnswerIn(ranged(), key))
    expect(hasAnswerIn(packed, '1h')).toBe(true)
    expect(hasAnswerIn(packed, '4h')).toBe(false)
  })

  test('returns the same view for every reader', () => {
    const packed = packDocument(ranged())
    expect(packed.views['1h']).toBe(packed.views['1h'])
  })

  test('has no next update and no numbered views if the document has none', () => {
    const { nextUpdateMs: _, numbered: __, ...plain } = ranged()
    const packed = packDocument(plain)
    expect(packed.nextUpdateMs).toBeUndefined()
    expect(packed.numbered).toBeUndefined()
  })
})

function ranged(): Document {
  return {
    key: 'funding/BTC',
    version: 3,
    renderedAtMs: NOW_MS + 0.5,
    nextUpdateMs: NOW_MS + 1_000,
    bytes: new TextEncoder().encode('{"é":1}'),
    parts: [
      { kind: 'text', start: 0, end: 8 },
      { kind: 'choice', starts: Uint32Array.of(0, 3), ends: Uint32Array.of(3, 70_000) },
      { kind: 'age', confirmedAtMs: NOW_MS - 0.25 },
    ],
    views: {
      '1h': { kind: 'answer', parts: [0], inputs: [], coveragePct: 99.1, warnings: ['thin_book'] },
      '4h': { kind: 'missing-input', input: 'book', detail: 'No é.' },
    },
    numbered: {
      parts: [1],
      inputs: [{ name: 'rates', confirmedAtMs: NOW_MS, cadenceMs: 5, isLoadBearing: true }],
      outcomes: [{ coveragePct: 100, warnings: [] }],
      outcomeOf: Uint8Array.of(0, 0),
    },
  }
}

function membersOf(document: Document): Document {
  const { key, version, renderedAtMs, nextUpdateMs, bytes, parts, views, numbered } = document
  return { key, version, renderedAtMs, nextUpdateMs, bytes, parts, views, numbered }
}
