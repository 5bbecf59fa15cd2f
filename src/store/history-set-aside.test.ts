import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { HistoryNotice } from './history-store.ts'
import { HistoryStore } from './history-store.ts'
import { barAt, barBatch, barsFrom, START_MS } from './testing/history-rows.ts'

const NOW_MS = START_MS + 86_400_000
const PAGE_BYTES = 4_096
/** First byte of a page that holds rows. */
const LEAF_PAGE = 13

/** Two share a table. */
const coins = Array.from({ length: 66 }, (_, at) => `C${at}`)
/** Three blocks. */
const bars = barsFrom(START_MS, 240)
const later = barAt(START_MS + 240 * 3_600_000)

describe('a history file of which one page is lost', () => {
  let folder: string
  let path: string
  let notices: HistoryNotice[]
  let whole: Buffer

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'perpscope-set-aside-'))
    path = join(folder, 'history.db')
    notices = []
    const before = open()
    for (const coin of coins) before.add(barBatch(coin, bars))
    before.close(NOW_MS)
    whole = readFileSync(path)
    losePage(lastLeaf())
  })

  afterEach(() => rmSync(folder, { recursive: true }))

  test('is set aside while it is at work, which its health tells', () => {
    const store = open()
    expect(store.health.setAsideFiles).toBe(0)
    tidy(store)
    expect(notices.map(({ kind }) => kind)).toEqual(['set-aside'])
    expect(store.health).toMatchObject({ state: 'ok', setAsideFiles: 1 })
    store.close(NOW_MS)
  })

  test('is set aside when it is opened, which its health tells', () => {
    losePage(0)
    const store = open()
    expect(store.health).toMatchObject({ state: 'ok', setAsideFiles: 1 })
    tidy(store)
    expect(notices.map(({ kind }) => kind)).toEqual(['set-aside'])
    store.close(NOW_MS)
  })

  test('is told of also when no new one can be begun yet', () => {
    losePage(0)
    vi.spyOn(Database.prototype, 'exec').mockImplementationOnce(() => {
      throw new Database.SqliteError('database or disk is full', 'SQLITE_FULL')
    })
    const store = open()
    expect(store.health).toMatchObject({ state: 'degraded', setAsideFiles: 1 })
    for (const _ of store.write(NOW_MS + 60_000));
    expect(notices.map(({ kind }) => kind)).toEqual(['set-aside', 'degraded', 'recovered'])
    store.close(NOW_MS)
  })

  test('keeps its bytes, and later rows are in a new file', () => {
    const damaged = readFileSync(path)
    const store = open()
    tidy(store)
    store.add(barBatch('C3', [later]))
    store.close(NOW_MS)
    expect(notices).toMatchObject([{ kind: 'set-aside', path: `${path}.corrupt-${NOW_MS}` }])
    expect(readFileSync(`${path}.corrupt-${NOW_MS}`).equals(damaged)).toBe(true)
    const next = open()
    expect(coins.flatMap((coin) => next.bars(coin, 0))).toEqual([later])
    next.close(NOW_MS)
  })

  test('is replaced by a copy from before the damage', () => {
    const store = open()
    tidy(store)
    store.add(barBatch('C3', [later]))
    store.close(NOW_MS)
    writeFileSync(path, whole)
    const restored = open()
    for (const coin of coins) expect(restored.bars(coin, 0)).toEqual(bars)
    expect(restored.health).toMatchObject({ state: 'ok', damagedBlocks: 0, setAsideFiles: 0 })
    restored.close(NOW_MS)
  })

  function open(): HistoryStore {
    return new HistoryStore({ path, onNotice: (notice) => notices.push(notice) }, NOW_MS)
  }

  function tidy(store: HistoryStore): void {
    for (const _ of store.tidy(NOW_MS));
  }

  function lastLeaf(): number {
    const bytes = readFileSync(path)
    const pages = Array.from({ length: bytes.length / PAGE_BYTES }, (_, page) => page)
    return pages.findLast((page) => bytes[page * PAGE_BYTES] === LEAF_PAGE) ?? Number.NaN
  }

  function losePage(page: number): void {
    const bytes = readFileSync(path)
    writeFileSync(path, bytes.fill(0, page * PAGE_BYTES, (page + 1) * PAGE_BYTES))
  }
})
