import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { HistoryNotice } from './history-store.ts'
import { HistoryStore } from './history-store.ts'
import { barAt, barBatch, START_MS } from './testing/history-rows.ts'
import type { WalCheckpointer } from './wal-checkpoint.ts'

const NOW_MS = START_MS
const HOUR_MS = 3_600_000

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
    other.add(barBatch('BTC', [barAt(START_MS, 7)]))
    other.close(NOW_MS)
    // The log of before stays beside it, and must not be taken for its own.
    renameSync(join(folder, 'other.db'), path)
    write(NOW_MS, 1)
    expect(store.health.reason).toMatch(/removed or replaced/)
    write(NOW_MS + 60_000, 2)
    expect(store.bars('BTC', 0)).toEqual([barAt(START_MS, 7), bar(1), bar(2)])
    store.close(NOW_MS)
  })

  test('is begun anew at once at the end', () => {
    for (const end of ['', '-wal']) rmSync(path + end)
    store.add(barBatch('BTC', [bar(1)]))
    expectOnDisk([1])
    expect(notices.map(({ kind }) => kind)).toEqual(['degraded', 'recovered'])
  })

  function open(path: string): HistoryStore {
    return new HistoryStore({ path, onNotice: (notice) => notices.push(notice) }, NOW_MS)
  }

  function write(nowMs: number, at: number): void {
    store.add(barBatch('BTC', [bar(at)]))
    for (const _ of store.write(nowMs));
  }

  function expectOnDisk(bars: readonly number[]): void {
    store.close(NOW_MS)
    const after = open(path)
    expect(after.bars('BTC', 0)).toEqual(bars.map(bar))
    after.close(NOW_MS)
  }
})

function bar(at: number) {
  return barAt(START_MS + at * HOUR_MS)
}

describe('a history whose disk refuses a checkpoint of the log', () => {
  test('keeps what waits in memory until a checkpoint succeeds', () => {
    const folder = mkdtempSync(join(tmpdir(), 'perpscope-history-failed-'))
    const path = join(folder, 'history.db')
    const notices: HistoryNotice[] = []
    let failures = 1
    const checkpointer: WalCheckpointer = (_, done) => {
      failures -= 1
      done(failures < 0 ? null : new Error('disk I/O error'))
    }
    const store = new HistoryStore(
      { path, checkpointer, onNotice: (notice) => notices.push(notice) },
      NOW_MS,
    )
    const hour = (at: number) => barAt(START_MS + at * 3_600_000)
    const write = (nowMs: number, coins: number, at: number) => {
      for (let coin = 0; coin < coins; coin += 1) store.add(barBatch(`C${coin}`, [hour(at)]))
      for (const _ of store.write(nowMs));
    }
    // The log is long then.
    write(NOW_MS, 3_000, 0)
    expect(store.health.reason).toMatch(/checkpoint of .* failed: disk I\/O error/)
    write(NOW_MS + 10_000, 3, 1)
    write(NOW_MS + 20_000, 3, 2)
    expect(store.health.state).toBe('ok')
    expect(notices.map(({ kind }) => kind)).toEqual(['degraded', 'recovered'])
    expect(store.bars('C2', 0)).toEqual([0, 1, 2].map(hour))
    expect(store.bars('C2999', 0)).toEqual([hour(0)])
    store.close(NOW_MS)
    rmSync(folder, { recursive: true })
  })
})
