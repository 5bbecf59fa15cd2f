import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Document } from '../domain/document.ts'
import { bytesOf, tailOf } from '../domain/document-bytes.ts'
import type { PackedDocument } from '../domain/packed-document.ts'
import { packDocument } from '../domain/packed-document.ts'
import type { Facts } from '../domain/packed-facts.ts'
import { packFacts } from '../domain/packed-facts.ts'
import type { DocumentStoreOptions } from './document-store.ts'
import { DocumentStore } from './document-store.ts'

const NOW_MS = Date.UTC(2026, 0, 1)
const HOUR_MS = 3_600_000
/** Before the facts of a stored document; it ends with their length and the one of facts and bytes. */
const HEAD_BYTES = 28

describe('documents on disk', () => {
  let folder: string
  let path: string

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'perpscope-documents-'))
    path = join(folder, 'documents.db')
  })

  afterEach(() => rmSync(folder, { recursive: true }))

  test('come back as they were, bytes and instants', () => {
    const documents = Array.from({ length: 50 }, (_, index) => document(`C${index}`, 1))
    saved(documents)
    expect(reloaded()).toEqual(documents)
  })

  test('come back with the ranges of their numbered views', () => {
    const plain = plainDocument('C0', 1)
    const choice = { starts: Uint32Array.of(0, 3), ends: Uint32Array.of(3, 9) }
    const ranged: Document = {
      ...plain,
      tail: tailOf('"one""two"'),
      parts: [...plain.parts, { kind: 'choice', ...choice }],
      numbered: {
        parts: [2],
        inputs: [],
        outcomes: [{ coveragePct: 100, warnings: [] }],
        outcomeOf: Uint8Array.of(0, 0),
      },
    }
    saved([packDocument(ranged)])
    const [read] = reloaded()
    expect(read?.parts).toEqual(ranged.parts)
    expect(read?.numbered).toEqual(ranged.numbered)
    expect(read?.bytes).toEqual(bytesOf(ranged))
  })

  test('are of each key the newest', () => {
    saved([document('BTC', 1), document('ETH', 1), document('BTC', 2)])
    expect(versions(reloaded())).toEqual({ BTC: 2, ETH: 1 })
  })

  test('that came after their turn are written the next time', () => {
    const store = opened()
    store.add(Array.from({ length: 50 }, (_, index) => document(`C${index}`, 1)))
    const slices = store.save()
    slices.next()
    store.add([document('C0', 2), document('C49', 2)])
    drain(slices)
    const written = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`C${at}`, 1]))
    expect(versions([...store.load()]), 'the newest when its turn came').toEqual({
      ...written,
      C49: 2,
    })
    drain(store.save())
    expect(versions([...store.load()])).toMatchObject({ C0: 2, C1: 1, C49: 2 })
    store.close()
  })

  test('of which nothing is new are not written again', () => {
    const store = opened()
    store.add([document('BTC', 1)])
    expect([...store.save()]).toHaveLength(1)
    expect([...store.save()]).toHaveLength(0)
    store.close()
  })

  test('are all there in the end, though a checkpoint of the log failed', () => {
    const store = opened({ checkpointer: (_, done) => done(new Error('disk I/O error')) })
    const documents = Array.from({ length: 100 }, (_, at) => long(`C${at}`))
    store.add(documents)
    expect(() => drain(store.save())).toThrow('checkpoint')
    expect(() => store.close()).toThrow('checkpoint')
    const next = opened()
    next.add(store.unsaved)
    next.close()
    expect(reloaded()).toHaveLength(documents.length)
  })

  test('of coins that are not listed any more are forgotten, those of the whole market never', () => {
    const store = opened()
    const ofMarket = packDocument({ ...plainDocument('', 1), key: 'screener/*' })
    store.add([...Array.from({ length: 30 }, (_, at) => document(`C${at}`, 1)), ofMarket])
    drain(store.save())
    store.retain(new Set(['C3', 'C7', 'NEW']))
    expect(Array.from(store.load(), ({ key }) => key).toSorted()).toEqual([
      ...['pulse/C3', 'pulse/C7', 'screener/*'],
    ])
    store.close()
  })

  test('that are left when the engine ends are saved then', () => {
    const store = opened()
    store.add([document('BTC', 1)])
    store.close()
    expect(versions(reloaded())).toEqual({ BTC: 1 })
  })

  test('of another version of the engine are not told', () => {
    saved([document('BTC', 1)])
    expect(reloaded({ maker: '1.2.4' })).toEqual([])
    expect(versions(reloaded())).toEqual({ BTC: 1 })
  })

  test('are forgotten when our clock was moved: nobody knows any more how old they are', () => {
    saved([document('BTC', 1)])
    expect(reloaded({ isClockNew: true })).toEqual([])
    expect(reloaded(), 'for good').toEqual([])
  })

  test('are forgotten where they were made later than now', () => {
    saved([document('BTC', 1)])
    expect(reloaded({}, NOW_MS - HOUR_MS)).toEqual([])
    expect(reloaded(), 'for good').toEqual([])
  })

  const written = (content: Buffer, facts: Uint8Array | Partial<Facts>, bytes?: Uint8Array) => {
    const { bytes: own, ...rest } = plainDocument('BTC', 1)
    const packed = facts instanceof Uint8Array ? facts : packFacts({ ...rest, ...facts })
    const given = bytes ?? own
    content.writeUInt32LE(packed.length, HEAD_BYTES - 8)
    content.writeUInt32LE(packed.length + given.length, HEAD_BYTES - 4)
    return Buffer.concat([content.subarray(0, HEAD_BYTES), packed, given])
  }
  const text = (text: string) => new TextEncoder().encode(text)

  test.each<readonly [string, (content: Buffer) => Buffer, boolean]>([
    ['flipped bits', (content) => content.fill(0xff, 20, 24), false],
    ['a length beyond its end', (content) => content.fill(0xff, HEAD_BYTES - 4, HEAD_BYTES), true],
    [
      'longer facts than content',
      (content) => content.fill(1, HEAD_BYTES - 5, HEAD_BYTES - 4),
      true,
    ],
    ['half a head', (content) => content.subarray(0, HEAD_BYTES / 2), true],
    ['facts that are not JSON', (content) => content.fill(0xfe, HEAD_BYTES, HEAD_BYTES + 1), true],
    ['no bytes', (content) => written(content, {}, new Uint8Array()), true],
    ['no parts', (content) => written(content, text('[]\n[[]]')), true],
    ['no views', (content) => written(content, text('[]\n[[],[]]')), true],
    ['the key of another one', (content) => content.fill(crc32Of('pulse/ETH'), 16, 20), true],
    [
      'text beyond its bytes',
      (content) => written(content, { parts: [{ kind: 'text', start: 0, end: 99 }] }),
      true,
    ],
    ['parts that are none', (content) => written(content, text('[]\n[[],[null],[]]')), true],
    [
      'more than a document may have',
      (content) => written(content, {}, new Uint8Array(20e6)),
      true,
    ],
  ])('with %s are left out with a report, and only they', (_, change, isWritten) => {
    saved([document('BTC', 1), document('ETH', 1)])
    const raw = new Database(path)
    const row = raw.prepare("SELECT content FROM document WHERE key = 'pulse/BTC'").get()
    const content = change(Buffer.from((row as { content: Buffer }).content))
    raw.prepare("UPDATE document SET content = ? WHERE key = 'pulse/BTC'").run(content)
    if (isWritten) {
      const crc = crc32(content)
      raw.prepare("UPDATE document SET crc = ? WHERE key = 'pulse/BTC'").run(crc)
    }
    raw.close()
    const store = opened()
    const reported: string[] = []
    expect(versions([...store.load((key) => reported.push(key))])).toEqual({ ETH: 1 })
    expect(reported).toEqual(['pulse/BTC'])
    store.close()
  })

  test('do not lengthen the log beyond what one copy may take', () => {
    const store = opened()
    store.add(Array.from({ length: 100 }, (_, at) => long(`C${at}`)))
    let longest = 0
    for (const _ of store.save()) longest = Math.max(longest, statSync(`${path}-wal`).size)
    store.close()
    expect(longest, 'of 20 MB').toBeLessThan(7_000_000)
  })

  function opened(own: Partial<DocumentStoreOptions> = {}, nowMs = NOW_MS + HOUR_MS) {
    const options = { path, maker: '1.2.3', isClockNew: false, ...own }
    return DocumentStore.open(options, nowMs).db
  }

  function saved(documents: readonly PackedDocument[]): void {
    const store = opened()
    store.add(documents)
    drain(store.save())
    store.close()
  }

  function reloaded(
    own?: Partial<DocumentStoreOptions>,
    nowMs?: number,
  ): readonly PackedDocument[] {
    const store = opened(own, nowMs)
    const documents = [...store.load()]
    store.close()
    return documents.toSorted((one, other) => indexOf(one) - indexOf(other))
  }
})

function crc32Of(key: string): Buffer {
  const checksum = Buffer.alloc(4)
  checksum.writeUInt32LE(crc32(key))
  return checksum
}

function long(coin: string): PackedDocument {
  return packDocument({ ...plainDocument(coin, 1), bytes: new Uint8Array(200_000) })
}

function document(coin: string, version: number): PackedDocument {
  return packDocument(plainDocument(coin, version))
}

function plainDocument(coin: string, version: number): Document {
  return {
    key: `pulse/${coin}`,
    version,
    renderedAtMs: NOW_MS + version,
    bytes: new TextEncoder().encode(`{"coin":"${coin}","age":}`),
    parts: [
      { kind: 'text', start: 0, end: 10 },
      { kind: 'input-age', input: 'candles' },
    ],
    views: {
      '1h': {
        kind: 'answer',
        parts: [0, 1],
        inputs: [
          { name: 'candles', confirmedAtMs: NOW_MS - 5, cadenceMs: 60_000, isLoadBearing: true },
        ],
        coveragePct: 100,
        warnings: [],
      },
    },
  }
}

function versions(documents: readonly Document[]): Record<string, number> {
  return Object.fromEntries(
    documents.map(({ key, version }) => [key.slice('pulse/'.length), version]),
  )
}

function indexOf({ key }: Document): number {
  return Number(key.slice('pulse/C'.length))
}

function drain(slices: Generator<unknown>): void {
  for (const _ of slices);
}
