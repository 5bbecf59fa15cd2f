import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { inspectHistory } from './history-inspection.ts'
import type { HistoryNotice } from './history-store.ts'
import { HistoryStore } from './history-store.ts'

const NOW_MS = Date.UTC(2026, 0, 2)
const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
/** 30 December 2025, as the number of its block of 96 hours. */
const BLOCK = 5_113
const START_MS = BLOCK * 4 * DAY_MS
/** Coin 1: bars of 1h, 15m and 4h. */
const [KEY, QUARTERS_KEY, FOURS_KEY] = [1, 0, 2].map((kind) => (8 + kind) * 2 ** 24 + BLOCK) as [
  number,
  number,
  number,
]

describe('a history file of schema version 1', () => {
  let folder: string
  let path: string
  let notices: HistoryNotice[]

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'perpscope-migration-'))
    path = join(folder, 'history.db')
    notices = []
    writeVersion1(path)
  })

  afterEach(() => rmSync(folder, { recursive: true }))

  test('is read and written on as it is', () => {
    const store = open()
    const bar = { open: 10, high: 12, low: 9, close: 11, volumeBase: 5 }
    expect(store.bars('kPEPE', 0)).toEqual([
      { openTimeMs: START_MS, ...bar },
      { openTimeMs: START_MS + 2 * HOUR_MS, ...bar },
    ])
    expect(notices).toEqual([])
    store.close(NOW_MS)
    expect(readdirSync(folder)).toEqual(['history.db'])
    expect(versionOf(path)).toBe(4)
  })

  test('is no damage to an inspection, which counts the rows that stay', () => {
    expect(inspectHistory(path)).toMatchObject({
      ...{ state: 'readable', version: 1, found: { rows: 2, damagedBlocks: 0 } },
    })
  })

  test('loses the bars of 15m and 4h, which nothing reads', () => {
    open().close(NOW_MS)
    const raw = new Database(path)
    expect(raw.prepare('SELECT key FROM block_01').pluck().all()).toEqual([KEY])
    raw.close()
  })

  test('gets a checksum for the names of its coins', () => {
    open().close(NOW_MS)
    const raw = new Database(path)
    raw.prepare("UPDATE coin SET name = 'BTC'").run()
    raw.close()
    const store = open()
    expect(store.bars('BTC', 0), 'the history of another coin').toEqual([])
    expect(notices).toEqual([{ kind: 'damaged', blocks: 1 }])
    store.close(NOW_MS)
  })

  test.each([
    ['a later version', 99, 'schema version 99'],
    ['no version at all', 0, 'not the schema of version 0'],
    ['a version that it is not', 2, 'not the schema of version 2'],
  ])('is set aside, whole, when it says that it is of %s', (_what, version, reason) => {
    const raw = new Database(path)
    raw.pragma(`user_version = ${version}`)
    raw.close()
    const store = open()
    expect(notices).toEqual([{ kind: 'set-aside', path: `${path}.corrupt-${NOW_MS}`, reason }])
    expect(store.health.state).toBe('ok')
    store.close(NOW_MS)
    expect(versionOf(path)).toBe(4)
  })

  test('is set aside, as it was, when a migration finds a damaged page', () => {
    const raw = new Database(path)
    raw.exec('ALTER TABLE coin ADD COLUMN crc INTEGER NOT NULL DEFAULT 0')
    raw.prepare('UPDATE coin SET crc = ?').run(crc32('kPEPE', crc32('1')))
    raw.pragma('user_version = 2')
    raw.pragma('journal_mode = DELETE')
    raw.close()
    loseLastLeaf(path)
    const store = open()
    const aside = `${path}.corrupt-${NOW_MS}`
    expect(notices).toEqual([
      { kind: 'set-aside', path: aside, reason: expect.stringMatching(/malformed/) },
    ])
    expect(store.bars('kPEPE', 0)).toEqual([])
    store.close(NOW_MS)
    expect([versionOf(aside), versionOf(path)]).toEqual([2, 4])
  })

  function open(): HistoryStore {
    return new HistoryStore({ path, onNotice: (notice) => notices.push(notice) }, NOW_MS)
  }
})

/** As the first release wrote it. Nothing here follows the code. */
function writeVersion1(path: string): void {
  const db = new Database(path)
  db.pragma('journal_mode = WAL')
  db.exec('CREATE TABLE coin (id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT')
  for (let shard = 0; shard < 64; shard += 1)
    db.exec(
      `CREATE TABLE block_${String(shard).padStart(2, '0')} (key INTEGER PRIMARY KEY, body BLOB NOT NULL, crc INTEGER NOT NULL) STRICT`,
    )
  db.prepare("INSERT INTO coin VALUES (1, 'kPEPE')").run()
  const body = new Float64Array(480).fill(Number.NaN)
  body.set([10, 12, 9, 11, 5], 0)
  body.set([10, 12, 9, 11, 5], 10)
  const bytes = Buffer.from(body.buffer)
  for (const key of [KEY, QUARTERS_KEY, FOURS_KEY])
    db.prepare('INSERT INTO block_01 VALUES (?, ?, ?)').run(
      key,
      bytes,
      crc32(bytes, crc32(String(key))),
    )
  db.pragma('user_version = 1')
  db.close()
}

/** Zeroes the last page with rows: the bars of 4h, which were written last. */
function loseLastLeaf(path: string): void {
  const [pageBytes, leafPage] = [4_096, 13]
  const bytes = readFileSync(path)
  let at = bytes.length - pageBytes
  while (bytes[at] !== leafPage) at -= pageBytes
  writeFileSync(path, bytes.fill(0, at, at + pageBytes))
}

function versionOf(path: string): number {
  const db = new Database(path, { readonly: true })
  const version = Number(db.pragma('user_version', { simple: true }))
  db.close()
  return version
}
