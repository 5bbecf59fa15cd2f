import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Document } from '../domain/document.ts'
import { CheckpointDb } from './checkpoint-db.ts'
import { UnsavedDocuments } from './unsaved-documents.ts'

const NOW_MS = Date.UTC(2026, 0, 1)
const MINUTE_MS = 60_000
const VERSION = '1.2.3'

describe('documents on disk', () => {
  let folder: string
  let path: string

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'perpscope-documents-'))
    path = join(folder, 'engine.db')
  })

  afterEach(() => rmSync(folder, { recursive: true }))

  test('come back as they were, bytes and instants', () => {
    const documents = Array.from({ length: 50 }, (_, index) => document(`C${index}`, 1))
    saved(documents)
    expect(reloaded()).toEqual(documents)
  })

  test('are of each key the newest', () => {
    saved([document('BTC', 1), document('ETH', 1), document('BTC', 2)])
    expect(versions(reloaded())).toEqual({ BTC: 2, ETH: 1 })
  })

  test('are written once a minute, since they are long', () => {
    const { db } = CheckpointDb.open(path, NOW_MS)
    const unsaved = new UnsavedDocuments(VERSION, NOW_MS)
    unsaved.add([document('BTC', 1)])
    const slicesAt = (nowMs: number) => [...unsaved.save(db, nowMs)].length
    expect(slicesAt(NOW_MS + MINUTE_MS - 1), 'before a minute has passed').toBe(0)
    expect(slicesAt(NOW_MS + MINUTE_MS)).toBe(1)
    unsaved.add([document('BTC', 2)])
    expect(slicesAt(NOW_MS + MINUTE_MS + 1)).toBe(0)
    expect(slicesAt(NOW_MS - MINUTE_MS), 'the clock was set back').toBe(1)
    db.close()
  })

  test('that came while others were written are written the next time', () => {
    const { db } = CheckpointDb.open(path, NOW_MS)
    const unsaved = new UnsavedDocuments(VERSION, NOW_MS)
    unsaved.add(Array.from({ length: 50 }, (_, index) => document(`C${index}`, 1)))
    const slices = unsaved.save(db, NOW_MS, true)
    slices.next()
    unsaved.add([document('C0', 2), document('C49', 2)])
    drain(slices)
    expect(versions(db.documents(VERSION)), 'of the instant at which the writing began').toEqual(
      Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`C${index}`, 1])),
    )
    drain(unsaved.save(db, NOW_MS, true))
    expect(versions(db.documents(VERSION))).toMatchObject({ C0: 2, C1: 1, C49: 2 })
    db.close()
  })

  test('that the disk refuses are written when it takes them again', () => {
    const { db } = CheckpointDb.open(path, NOW_MS)
    const unsaved = new UnsavedDocuments(VERSION, NOW_MS)
    unsaved.add([document('BTC', 1)])
    const full = Object.assign(Object.create(db) as CheckpointDb, {
      putDocuments: () => {
        throw new Error('disk full')
      },
    })
    expect(() => drain(unsaved.save(full, NOW_MS, true))).toThrow('disk full')
    drain(unsaved.save(db, NOW_MS + MINUTE_MS))
    expect(versions(db.documents(VERSION))).toEqual({ BTC: 1 })
    db.close()
  })

  test('of another version of the engine are not told', () => {
    saved([document('BTC', 1)])
    expect(reloaded('1.2.4')).toEqual([])
  })

  test('are forgotten when nobody knows any more how old they are', () => {
    saved([document('BTC', 1)])
    const { db } = CheckpointDb.open(path, NOW_MS)
    db.forgetDocuments()
    expect(db.documents(VERSION)).toEqual([])
    db.close()
  })

  test.each([
    ['flipped bits', (content: Buffer) => content.fill(0xff, 20, 24), false],
    ['a format of later releases of Node', (content: Buffer) => content.fill(0xfe, 1, 2), true],
  ])('with %s are left out, and only they', (_, change, isWritten) => {
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
    expect(versions(reloaded())).toEqual({ ETH: 1 })
  })

  test('do not lengthen the log beyond what one copy may take', () => {
    const { db } = CheckpointDb.open(path, NOW_MS)
    const unsaved = new UnsavedDocuments(VERSION, NOW_MS)
    const bytes = new Uint8Array(200_000)
    unsaved.add(Array.from({ length: 100 }, (_, at) => ({ ...document(`C${at}`, 1), bytes })))
    let longest = 0
    for (const _ of unsaved.save(db, NOW_MS, true))
      longest = Math.max(longest, statSync(`${path}-wal`).size)
    db.close()
    expect(longest, 'of 20 MB').toBeLessThan(7_000_000)
  })

  function saved(documents: readonly Document[]): void {
    const { db } = CheckpointDb.open(path, NOW_MS)
    const unsaved = new UnsavedDocuments(VERSION, NOW_MS)
    unsaved.add(documents)
    drain(unsaved.save(db, NOW_MS, true))
    db.close()
  }

  function reloaded(version = VERSION): readonly Document[] {
    const { db } = CheckpointDb.open(path, NOW_MS)
    const documents = db.documents(version)
    db.close()
    return documents.toSorted((one, other) => indexOf(one) - indexOf(other))
  }
})

function document(coin: string, version: number): Document {
  return {
    key: `pulse/${coin}`,
    version,
    renderedAtMs: NOW_MS + version,
    bytes: Buffer.from(`{"coin":"${coin}","age":}`),
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
