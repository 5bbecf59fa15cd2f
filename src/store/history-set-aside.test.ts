import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { HistoryNotice } from './history-store.ts'
import { HistoryStore } from './history-store.ts'
import { barBatch, barsFrom, START_MS } from './testing/history-rows.ts'

const NOW_MS = START_MS + 86_400_000
const PAGE_BYTES = 4_096
/** First byte of a page that holds rows. */
const LEAF_PAGE = 13

/** Two share a table. */
const coins = Array.from({ length: 66 }, (_, at) => `C${at}`)
/** Three blocks. */
const bars = barsFrom(START_MS, '15m', 250)

describe('a history file of which one page is lost', () => {
  let folder: string
  let path: string
  let notices: HistoryNotice[]

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'perpscope-set-aside-'))
    path = join(folder, 'history.db')
    notices = []
    const before = open()
    for (const coin of coins) before.add(barBatch(coin, '15m', bars))
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
    store.close(NOW_MS)
  })

  function open(): HistoryStore {
    return new HistoryStore({ path, onNotice: (notice) => notices.push(notice) }, NOW_MS)
  }

  function tidy(store: HistoryStore): void {
    for (let turn = 0; turn < 4; turn += 1) for (const _ of store.tidy(NOW_MS));
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
