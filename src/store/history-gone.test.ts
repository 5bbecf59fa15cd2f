import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { HistoryNotice } from './history-store.ts'
import { HistoryStore } from './history-store.ts'
import { barAt, barBatch, START_MS } from './testing/history-rows.ts'
import type { FileSync } from './wal-copy.ts'
import { syncAtOnce } from './wal-copy.ts'

const NOW_MS = START_MS
const QUARTER_MS = 900_000

describe('a history file that is taken from a running service', () => {
  let folder: string
  let path: string
  let notices: HistoryNotice[]
  let store: HistoryStore

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'perpscope-history-gone-'))
    path = join(folder, 'history.db')
    notices = []
    store = open(path)
    write(NOW_MS, 0)
  })

  afterEach(() => rmSync(folder, { recursive: true }))

  test('is begun anew after a minute, with what waited', () => {
    for (const end of ['', '-wal']) rmSync(path + end)
    write(NOW_MS, 1)
    expect(store.health.state).toBe('degraded')
    write(NOW_MS + 59_999, 2)
    expect(existsSync(path), 'not at once').toBe(false)
    write(NOW_MS + 60_000, 3)
    expect(store.health.state).toBe('ok')
    expect(notices.map(({ kind }) => kind)).toEqual(['degraded', 'recovered'])
    expectOnDisk([1, 2, 3])
  })

  test('is left for the one that was put in its place', () => {
    const other = open(join(folder, 'other.db'))
    other.add(barBatch('BTC', '15m', [barAt(START_MS, 7)]))
    other.close(NOW_MS)
    // The log of before stays beside it, and must not be taken for its own.
    renameSync(join(folder, 'other.db'), path)
    write(NOW_MS, 1)
    expect(store.health.reason).toMatch(/removed or replaced/)
    write(NOW_MS + 60_000, 2)
    expect(store.bars('BTC', '15m', 0)).toEqual([barAt(START_MS, 7), bar(1), bar(2)])
    store.close(NOW_MS)
  })

  test('is begun anew at once at the end', () => {
    for (const end of ['', '-wal']) rmSync(path + end)
    store.add(barBatch('BTC', '15m', [bar(1)]))
    expectOnDisk([1])
    expect(notices.map(({ kind }) => kind)).toEqual(['degraded', 'recovered'])
  })

  function open(path: string): HistoryStore {
    return new HistoryStore({ path, onNotice: (notice) => notices.push(notice) }, NOW_MS)
  }

  function write(nowMs: number, at: number): void {
    store.add(barBatch('BTC', '15m', [bar(at)]))
    for (const _ of store.write(nowMs));
  }

  function expectOnDisk(bars: readonly number[]): void {
    store.close(NOW_MS)
    const after = open(path)
    expect(after.bars('BTC', '15m', 0)).toEqual(bars.map(bar))
    after.close(NOW_MS)
  }
})

function bar(at: number) {
  return barAt(START_MS + at * QUARTER_MS)
}

describe('a history whose disk has failed once to keep what was written', () => {
  test('is opened anew after a minute, and everything is there', () => {
    const folder = mkdtempSync(join(tmpdir(), 'perpscope-history-failed-'))
    const path = join(folder, 'history.db')
    const notices: HistoryNotice[] = []
    let failures = 1
    const sync: FileSync = (descriptor, done) => {
      failures -= 1
      if (failures < 0) syncAtOnce(descriptor, done)
      else done(new Error('EIO'))
    }
    const store = new HistoryStore(
      { path, sync, onNotice: (notice) => notices.push(notice) },
      NOW_MS,
    )
    const write = (nowMs: number, coins: number, at: number) => {
      for (let coin = 0; coin < coins; coin += 1) store.add(barBatch(`C${coin}`, '15m', [bar(at)]))
      for (const _ of store.write(nowMs));
    }
    // So long a log is copied before anything else is written.
    write(NOW_MS, 200, 0)
    write(NOW_MS, 3, 1)
    expect(store.health.reason).toMatch(/does not reach the disk: EIO/)
    write(NOW_MS + 60_000, 3, 2)
    expect(store.health.state).toBe('ok')
    expect(notices.map(({ kind }) => kind)).toEqual(['degraded', 'recovered'])
    expect(store.bars('C2', '15m', 0)).toEqual([0, 1, 2].map(bar))
    expect(store.bars('C199', '15m', 0)).toEqual([bar(0)])
    store.close(NOW_MS)
    rmSync(folder, { recursive: true })
  })
})
