import { describe, expect, test } from 'vitest'
import { BlockChains } from './block-chains.ts'
import type { DocumentKey } from './document.ts'
import type { PackedDocument } from './packed-document.ts'
import { packDocument } from './packed-document.ts'
import {
  DocumentMemory,
  newDocumentMemory,
  ownDocuments,
  PlacedDocument,
} from './placed-document.ts'

const NOW_MS = Date.UTC(2026, 0, 1)

describe('a placed document', () => {
  test('is in the gateway what it was in the engine', () => {
    const { place } = rig()
    const rendered = packed('pulse/BTC', 1)
    const received = place(rendered)
    expect(received.copy()).toEqual(rendered)
    expect(ownDocuments([received])[0]).toEqual(rendered)
    expect(received.facts()?.views).toEqual(rendered.views)
    expect(received.hasAnswerIn('1h')).toBe(true)
    expect(received.hasAnswerIn('4h')).toBe(false)
  })

  test('shares the end of its bytes, which its versions share', () => {
    const { place } = rig()
    const tail = new Uint8Array(new SharedArrayBuffer(3))
    const received = place(packed('funding/BTC', 1, { tail }))
    tail[0] = 7
    expect(received.copy()?.end?.[0]).toBe(7)
  })

  test('keeps its bytes until the gateway has released it', () => {
    const { place, memory } = rig()
    const first = place(packed('pulse/BTC', 1))
    for (let version = 2; version < 50; version += 1) place(packed('pulse/BTC', version)).release()
    expect(first.copy()).toEqual(packed('pulse/BTC', 1))
    expect(memory.byteLength).toBe(2 ** 20)
  })

  test('keeps its bytes in the engine until it is replaced there', () => {
    const { placed, place, arrive } = rig()
    const own = placed(packed('pulse/BTC', 1))
    arrive(own).release()
    for (let at = 0; at < 50; at += 1) place(packed(`spread/${at}`, 1)).release()
    expect(own.copy()).toEqual(packed('pulse/BTC', 1))
    placed(packed('pulse/BTC', 2))
    placed(packed('pulse/ETH', 1))
    expect(own.copy()).toBeUndefined()
  })

  test('cannot be read after the release, when its bytes may change', () => {
    const { place } = rig()
    const received = place(packed('pulse/BTC', 1))
    received.release()
    received.release()
    expect(received.copy()).toBeUndefined()
    expect(received.facts()).toBeUndefined()
    expect(received.hasAnswerIn('1h')).toBe(false)
    expect(ownDocuments([received])).toEqual([])
  })

  test('leaves its memory to others when its coin is no longer listed', () => {
    const { place, placed, arrive, engine, memory } = rig()
    const text = 'x'.repeat(100_000)
    for (let at = 0; at < 100; at += 1) {
      place(packed(`pulse/${at}`, 1, { text })).release()
      place(packed('screener/*', at)).release()
      engine.retain(new Set(['BTC']))
    }
    expect(memory.byteLength).toBe(2 ** 20)
    const screener = placed(packed('screener/*', 100))
    arrive(screener).release()
    engine.retain(new Set())
    place(packed('pulse/BTC', 1))
    expect(screener.copy()?.version).toBe(100)
  })

  test('is a packed one while a gateway reads nothing, so that the memory does not grow', () => {
    const { placed, arrive, memory } = rig()
    const sent = Array.from({ length: 5_000 }, (_, at) => placed(packed('pulse/BTC', at)))
    expect(sent.at(-1)).toEqual(packed('pulse/BTC', 4_999))
    expect(memory.byteLength).toBe(2 ** 20)
    for (const one of sent) if (one instanceof PlacedDocument) arrive(one).release()
    expect(placed(packed('pulse/BTC', 5_000))).toBeInstanceOf(PlacedDocument)
  })

  test('is a packed one in a full memory, and the next one has the memory of the replaced one', () => {
    const { placed, arrive } = rig(2 ** 20)
    const text = 'x'.repeat(600_000)
    const first = placed(packed('pulse/BTC', 1, { text }))
    const second = packed('pulse/BTC', 2, { text })
    expect(placed(second)).toBe(second)
    arrive(first).release()
    expect(placed(packed('pulse/BTC', 3, { text }))).toBeInstanceOf(PlacedDocument)
  })
})

/** An engine with a gateway that has the documents as structured clone brings them. */
function rig(bytesMax?: number) {
  const memory = newDocumentMemory(bytesMax)
  const engine = new DocumentMemory(memory)
  const gateway = new BlockChains(memory)
  /** Of the engine. */
  const placed = (document: PackedDocument) => engine.place([document])[0] as PlacedDocument
  const arrive = (own: PlacedDocument) => new PlacedDocument(structuredClone(own), gateway)
  const place = (document: PackedDocument) => arrive(placed(document))
  return { memory, engine, placed, arrive, place }
}

function packed(
  key: DocumentKey,
  version: number,
  { text = `{"version":${version}}`, tail }: { text?: string; tail?: Uint8Array } = {},
): PackedDocument {
  const bytes = new TextEncoder().encode(text)
  return packDocument({
    ...{ key, version, renderedAtMs: NOW_MS + version, bytes, tail },
    parts: [{ kind: 'text', start: 0, end: bytes.length }],
    views: {
      '1h': { kind: 'answer', parts: [0], inputs: [], coveragePct: 100, warnings: [] },
      '4h': { kind: 'missing-input', input: 'book' },
    },
  })
}
