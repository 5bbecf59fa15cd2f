import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { HistoryNotice, HistorySlice } from './history-store.ts'
import { HistoryStore } from './history-store.ts'
import { barAt, barBatch, barsFrom, START_MS } from './testing/history-rows.ts'

const NOW_MS = START_MS + 86_400_000
const HOUR_MS = 3_600_000
const PAGE_BYTES = 4_096
/** First byte of a page that holds rows. */
const LEAF_PAGE = 13

/** Two share a table. */
const coins = Array.from({ length: 66 }, (_, at) => `C${at}`)
/** Three blocks. */
const bars = barsFrom(START_MS, 240)

describe('a history file of which one page is lost', () => {
  let folder: string
  let path: string
  let notices: HistoryNotice[]

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'perpscope-set-aside-'))
    path = join(folder, 'history.db')
    notices = []
    const before = open()
    for (const coin of coins) before.add(barBatch(coin, bars))
    before.close(NOW_MS)
    losePage(lastLeaf())
  })

  afterEach(() => rmSync(folder, { recursive: true }))

  test('is set aside while it is at work, which its health tells', () => {
    const store = open()
    expect(store.health.setAsideFiles).toBe(0)
    tidy(store)
    expect(notices.map(({ kind }) => kind)).toContain('set-aside')
    expect(store.health).toMatchObject({ state: 'ok', setAsideFiles: 1 })
    store.close(NOW_MS)
  })

  test('is set aside when it is opened, which its health tells', () => {
    losePage(0)
    const store = open()
    expect(store.health).toMatchObject({ state: 'ok', setAsideFiles: 1 })
    tidy(store)
    expect(
      notices.map(({ kind }) => kind),
      'as it is beyond reading',
    ).toEqual(['set-aside'])
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

  test('costs the rows of that page: the others are in the next one, after some slices', () => {
    const store = open()
    const slices = tidy(store).filter((slice) => slice === 'salvaged')
    expect(slices.length).toBeGreaterThan(65)
    expect(notices.at(-1)).toEqual({ kind: 'salvaged', blocks: 66 * 3 - 1 })
    store.close(NOW_MS)
    expectAllButOneBlock(open())
  })

  test('is read beside the next one until that has all', () => {
    const store = open()
    tidy(store, 1)
    expect(store.health.setAsideFiles).toBe(1)
    expectAllButOneBlock(store)
  })

  test('puts no older row over one that came meanwhile', () => {
    const store = open()
    tidy(store, 1)
    const revised = barAt(START_MS + HOUR_MS, 50)
    store.add(barBatch('C3', [revised]))
    for (const _ of store.write(NOW_MS));
    const expected = bars.with(1, revised)
    expect(store.bars('C3', 0), 'while it is read beside the next one').toEqual(expected)
    tidy(store)
    expect(notices.at(-1)?.kind).toBe('salvaged')
    expect(store.bars('C3', 0)).toEqual(expected)
    store.close(NOW_MS)
  })

  test('gives its blocks also when they were refused before', () => {
    const store = open({ pagesMax: 150 })
    tidy(store)
    expect(store.health).toMatchObject({ state: 'degraded' })
    expectAllButOneBlock(store)
  })

  function expectAllButOneBlock(store: HistoryStore): void {
    const found = coins.map((coin) => store.bars(coin, 0))
    store.close(NOW_MS)
    const short = found.filter(({ length }) => length < bars.length)
    expect(short).toHaveLength(1)
    const written = new Set(bars.map((bar) => JSON.stringify(bar)))
    for (const bar of found.flat())
      if (!written.has(JSON.stringify(bar))) expect.fail('a wrong bar')
    expect(short[0]?.length).toBeGreaterThanOrEqual(bars.length - 96)
  }

  function open(options: { pagesMax?: number } = {}): HistoryStore {
    return new HistoryStore(
      { path, onNotice: (notice) => notices.push(notice), ...options },
      NOW_MS,
    )
  }

  /** @returns what was done, in slices. */
  function tidy(store: HistoryStore, turns = 4): readonly HistorySlice[] {
    return Array.from({ length: turns }, () => [...store.tidy(NOW_MS)]).flat()
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
