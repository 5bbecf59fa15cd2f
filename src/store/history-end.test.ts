import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { HistoryNotice } from './history-store.ts'
import { HistoryStore } from './history-store.ts'
import { barBatch, barsFrom, START_MS } from './testing/history-rows.ts'

const NOW_MS = START_MS
const BARS = 7

describe('the end of a history whose disk is in trouble', () => {
  let folder: string
  let path: string
  let notices: HistoryNotice[]

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'perpscope-history-end-'))
    path = join(folder, 'history.db')
    notices = []
  })

  afterEach(() => rmSync(folder, { recursive: true }))

  test('tells how many rows never reached the disk', () => {
    const coins = Array.from({ length: 200 }, (_, at) => `C${at}`)
    const full = open({ pagesMax: 80 })
    for (const coin of coins) full.add(bars(coin))
    full.close(NOW_MS)
    const after = open()
    const onDisk = coins.flatMap((coin) => after.bars(coin, 0)).length
    after.close(NOW_MS)
    expect(notices.at(-1)).toEqual({ kind: 'unwritten', rows: 200 * BARS - onDisk })
  })

  test('tells nothing where all reached it', () => {
    const store = open()
    store.add(bars('BTC'))
    store.close(NOW_MS)
    expect(notices).toEqual([])
  })

  test('tries a file once more that could not be used a moment ago', () => {
    const holder = new Database(path)
    holder.pragma('locking_mode = EXCLUSIVE')
    holder.exec('BEGIN EXCLUSIVE')
    const next = open()
    next.add(bars('BTC'))
    holder.close()
    next.close(NOW_MS + 1)
    expect(notices.map(({ kind }) => kind)).toEqual(['degraded', 'recovered'])
    const after = open()
    expect(after.bars('BTC', 0)).toHaveLength(BARS)
    after.close(NOW_MS)
  })

  function open(options: { pagesMax?: number } = {}): HistoryStore {
    return new HistoryStore(
      { path, onNotice: (notice) => notices.push(notice), ...options },
      NOW_MS,
    )
  }
})

function bars(coin: string) {
  return barBatch(coin, barsFrom(START_MS, BARS))
}
