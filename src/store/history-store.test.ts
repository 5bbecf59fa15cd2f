import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Bar } from '../domain/bar.ts'
import type { MeasureMinute } from '../domain/history.ts'
import { blockKinds, keptMsOf } from './history-block.ts'
import type { HistoryNotice } from './history-store.ts'
import { HistoryStore } from './history-store.ts'
import {
  barAt,
  barBatch,
  barsFrom,
  batchOf,
  fundingAt,
  minutesOf,
  START_MS,
  sampleAt,
} from './testing/history-rows.ts'

const MINUTE_MS = 60_000
const QUARTER_MS = 15 * MINUTE_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const NOW_MS = START_MS + DAY_MS
/** Bars of one block. */
const BLOCK_MS = 96 * HOUR_MS

describe('history store', () => {
  let folder: string
  let path: string
  let notices: HistoryNotice[]
  let store: HistoryStore

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'perpscope-history-'))
    path = join(folder, 'deep', 'history.db')
    notices = []
    store = open()
  })

  afterEach(() => {
    store.close(NOW_MS)
    rmSync(folder, { recursive: true })
  })

  test('gives bars back, ascending, from the one that was asked for', () => {
    const bars = barsFrom(START_MS, 250)
    store.add(barBatch('BTC', bars.toReversed()))
    reopen()
    expect(store.bars('BTC', 0)).toEqual(bars)
    expect(store.bars('BTC', bars[200]?.openTimeMs ?? 0)).toEqual(bars.slice(200))
    expect(store.bars('ETH', 0), 'of another coin').toEqual([])
  })

  test('a bar that cannot be is not given back', () => {
    const [first, second] = barsFrom(START_MS, 2) as [Bar, Bar]
    store.add(barBatch('BTC', [{ ...first, open: first.high + 1 }, second]))
    reopen()
    expect(store.bars('BTC', 0)).toEqual([second])
  })

  test('keeps coins apart', () => {
    store.add(barBatch('BTC', [barAt(START_MS, 1)]))
    store.add(barBatch('kPEPE', [barAt(START_MS, 3)]))
    reopen()
    expect(store.bars('BTC', 0)).toEqual([barAt(START_MS, 1)])
    expect(store.bars('kPEPE', 0)).toEqual([barAt(START_MS, 3)])
  })

  test('replaces a bar by a later word on it, and no other bar', () => {
    store.add(barBatch('BTC', barsFrom(START_MS, 3)))
    write()
    const revised = barAt(START_MS + HOUR_MS, 50)
    store.add(barBatch('BTC', [revised]))
    reopen()
    const [first, , third] = barsFrom(START_MS, 3)
    expect(store.bars('BTC', 0)).toEqual([first, revised, third])
  })

  test('reads what was not written yet together with what was', () => {
    store.add(barBatch('BTC', barsFrom(START_MS, 100)))
    write()
    store.add(barBatch('BTC', barsFrom(START_MS + 100 * HOUR_MS, 100)))
    expect(store.bars('BTC', 0)).toEqual(barsFrom(START_MS, 200))
  })

  test('gives samples a minute apart where they are young, a quarter of an hour where they are old', () => {
    const youngFromMs = START_MS + 10 * DAY_MS
    const times = [
      ...Array.from({ length: 120 }, (_, at) => START_MS + at * MINUTE_MS),
      ...Array.from({ length: 120 }, (_, at) => youngFromMs + at * MINUTE_MS),
    ]
    const samples = times.map((timeMs) => sampleAt('BTC', timeMs))
    store.add(batchOf({ samples }))
    store.add(barBatch('BTC', [barAt(youngFromMs)]))
    write()
    tidy()
    const isKept = ({ timeMs }: { timeMs: number }) =>
      timeMs >= youngFromMs || timeMs % QUARTER_MS === 0
    expect(store.samples('BTC', 0, Number.POSITIVE_INFINITY)).toEqual(samples.filter(isKept))
    const [fromMs, toMs] = [START_MS + HOUR_MS, youngFromMs + MINUTE_MS]
    expect(store.samples('BTC', fromMs, toMs).map(({ timeMs }) => timeMs)).toEqual([
      ...[0, 15, 30, 45].map((minute) => START_MS + HOUR_MS + minute * MINUTE_MS),
      youngFromMs,
      youngFromMs + MINUTE_MS,
    ])
  })

  test('keeps what is not known of a sample as null, and a rate of nothing as nothing', () => {
    const sample = {
      ...sampleAt('BTC', START_MS),
      spreadBps: null,
      fundingRateHourly: 0,
      premium: 0,
    }
    store.add(batchOf({ samples: [sample] }))
    reopen()
    expect(store.samples('BTC', START_MS, START_MS)).toEqual([sample])
  })

  test('puts what the venue settled in the place of an estimate, and never the reverse', () => {
    store.add(batchOf({ fundings: [0, 1, 2].map((hour) => fundingAt('BTC', hour, false)) }))
    write()
    store.addFundings([fundingAt('BTC', 1, true)])
    write()
    store.add(batchOf({ fundings: [fundingAt('BTC', 1, false), fundingAt('BTC', 3, false)] }))
    const expected = [
      fundingAt('BTC', 0, false),
      fundingAt('BTC', 1, true),
      fundingAt('BTC', 2, false),
      fundingAt('BTC', 3, false),
    ]
    expect(store.fundings('BTC', 0), 'read beside the file').toEqual(expected)
    reopen()
    expect(store.fundings('BTC', 0), 'read from the file').toEqual(expected)
    expect(store.fundings('BTC', START_MS + 2 * HOUR_MS)).toEqual(expected.slice(2))
  })

  test('writes five minutes of samples together, and everything at the end', () => {
    const minute = (at: number) =>
      store.add(batchOf({ samples: [sampleAt('BTC', START_MS + (at + 1) * MINUTE_MS)] }))
    const writtenAfter = [0, 1, 2, 3, 4, 5, 6].map((at) => {
      minute(at)
      return write()
    })
    expect(writtenAfter.map((slices) => slices > 0)).toEqual([
      ...[true, false, false, false, false, true, false],
    ])
    reopen()
    expect(store.samples('BTC', 0, Number.POSITIVE_INFINITY)).toHaveLength(7)
  })

  test('gives the minutes of a measure back, a hole as a hole', () => {
    const minutes = minutesOf('basis/BTC/pyth-hermes', START_MS, 1_000)
    store.add(batchOf({ measures: minutes }))
    reopen()
    const [fromMs, toMs] = [minutes[500]?.timeMs ?? 0, minutes[700]?.timeMs ?? 0]
    expect(store.measures('basis/BTC/pyth-hermes', 0, NOW_MS)).toEqual(minutes.map(row))
    expect(store.measures('basis/BTC/pyth-hermes', fromMs, toMs), 'both ends included').toEqual(
      minutes.slice(500, 701).map(row),
    )
    expect(store.measures('basis/ETH/pyth-hermes', 0, NOW_MS)).toEqual([])
  })

  test('knows of which measures it has something, on disk or on the way there', () => {
    store.add(barBatch('BTC', [barAt(START_MS)]))
    store.add(batchOf({ measures: minutesOf('depeg/USDT', START_MS + MINUTE_MS, 1) }))
    reopen()
    store.add(batchOf({ measures: minutesOf('basis/BTC', START_MS + MINUTE_MS, 1) }))
    expect(store.measureSeries()).toEqual(['basis/BTC', 'depeg/USDT'])
  })

  test('keeps a measure apart from a coin that is called like it', () => {
    store.add(barBatch('BTC', [barAt(START_MS)]))
    store.add(barBatch('measure:BTC', [barAt(START_MS, 1)]))
    store.add(batchOf({ measures: [{ series: 'BTC', timeMs: START_MS, value: 7 }] }))
    reopen()
    expect(store.bars('BTC', 0)).toEqual([barAt(START_MS)])
    expect(store.bars('measure:BTC', 0)).toEqual([barAt(START_MS, 1)])
    expect(store.measures('BTC', 0, NOW_MS)).toEqual([{ timeMs: START_MS, value: 7 }])
  })

  test('writes five minutes of measures together, whether or not the venue says anything', () => {
    const writtenAfter = [1, 2, 3, 4, 5, 6].map((minute) => {
      const timeMs = START_MS + minute * MINUTE_MS
      store.add(batchOf({ measures: [{ series: 'gap', timeMs, value: minute }] }))
      return write()
    })
    expect(writtenAfter.map((slices) => slices > 0)).toEqual([
      ...[true, false, false, false, false, true],
    ])
  })

  test('keeps a month of measures, and removes what is older', () => {
    const minutes = minutesOf('gap', START_MS, 32 * 24 * 60)
    const endMs = START_MS + 32 * DAY_MS
    store.add(batchOf({ measures: minutes }))
    store.add(barBatch('BTC', [barAt(endMs - HOUR_MS)]))
    write()
    tidy()
    reopen()
    const kept = store.measures('gap', 0, Number.POSITIVE_INFINITY)
    expect(kept).toEqual(minutes.slice(-kept.length).map(row))
    expect(kept[0]?.timeMs).toBeLessThanOrEqual(endMs - 30 * DAY_MS)
    // A block spans eight hours.
    expect(kept[0]?.timeMs).toBeGreaterThan(endMs - 30 * DAY_MS - 8 * HOUR_MS)
  })

  test('keeps as many days as the operator wants, of minutes their quarters of an hour', () => {
    const [endMs, oldMs] = [START_MS + 100 * DAY_MS, START_MS]
    const old = { timeMs: oldMs, value: 1 }
    const bars = [barAt(oldMs), barAt(endMs - HOUR_MS)]
    for (const [days, kept] of [
      [101, [old]],
      [60, []],
    ] as const) {
      store.close(NOW_MS)
      rmSync(path, { force: true })
      store = open({ days })
      store.add(batchOf({ measures: [{ series: 'gap', ...old }] }))
      for (const bar of bars) store.add(barBatch('BTC', [bar]))
      write()
      tidy()
      store.close(NOW_MS)
      store = open({ days })
      expect(store.measures('gap', 0, Number.POSITIVE_INFINITY), `${days} days`).toEqual(kept)
      expect(store.bars('BTC', 0)).toHaveLength(kept.length + 1)
    }
    expect(keptMsOf(blockKinds.samples, 366), 'minutes').toBe(blockKinds.samples.keptMs)
  })

  test('removes what is too old, by the time of the bars and not by that of the clock', () => {
    store.add(barBatch('BTC', barsFrom(START_MS, 96)))
    write()
    tidy(START_MS + 900 * DAY_MS)
    expect(store.bars('BTC', 0), 'while no newer bar is there').toHaveLength(96)
    store.add(barBatch('ETH', barsFrom(START_MS + 48 * DAY_MS, 1)))
    write()
    tidy()
    expect(store.bars('BTC', 0)).toEqual([])
    expect(store.bars('ETH', 0)).toHaveLength(1)
  })

  test('looks for what is too old once an hour', () => {
    const removals = () => [...store.tidy(NOW_MS)].filter((slice) => slice === 'removed').length
    const bars = barsFrom(START_MS, 9)
    expect(removals(), 'before any bar').toBe(0)
    store.add(barBatch('BTC', bars.slice(0, 1)))
    write()
    expect([removals(), removals()]).toEqual([1, 0])
    store.add(barBatch('BTC', bars.slice(1)))
    write()
    expect([removals(), removals()]).toEqual([1, 0])
  })

  test('gives a coin nothing of another one whose name was lost', () => {
    store.add(barBatch('BTC', [barAt(START_MS)]))
    write()
    store.close(NOW_MS)
    const raw = new Database(path)
    raw.prepare('DELETE FROM coin').run()
    raw.close()
    store = open()
    store.add(barBatch('ETH', [barAt(START_MS + HOUR_MS)]))
    write()
    expect(store.bars('ETH', 0)).toEqual([barAt(START_MS + HOUR_MS)])
  })

  test('keeps every kind of row for as long as it is asked for, and bars of a month', () => {
    const nowMs = START_MS + 100 * DAY_MS
    store.add(barBatch('BTC', [barAt(nowMs - 39 * DAY_MS)]))
    const day = sampleAt('BTC', nowMs - DAY_MS - MINUTE_MS)
    const month = sampleAt('BTC', nowMs - 30 * DAY_MS)
    const funding = fundingAt('BTC', 100 * 24 - 720, true)
    store.add(batchOf({ samples: [month, day], fundings: [funding] }))
    store.add(barBatch('ETH', [barAt(nowMs)]))
    write()
    tidy()
    expect(store.bars('BTC', 0)).toHaveLength(1)
    expect(store.samples('BTC', 0, nowMs)).toEqual([month, day])
    expect(store.fundings('BTC', 0)).toEqual([funding])
  })

  test('leaves out and counts a row whose time is not on the grid', () => {
    store.add(barBatch('BTC', [barAt(START_MS + 1), barAt(-HOUR_MS), barAt(START_MS)]))
    expect(store.bars('BTC', 0)).toEqual([barAt(START_MS)])
    expect(store.health).toMatchObject({ state: 'ok', droppedRows: 2 })
  })

  test('says how many rows were lost on the way to it', () => {
    store.add(batchOf({ droppedRows: 7 }))
    expect(store.health.droppedRows).toBe(7)
  })

  test('degrades when the disk is full, goes on from memory, and recovers when there is room', () => {
    store.close(NOW_MS)
    store = open({ pagesMax: 110 })
    const coins = Array.from({ length: 30 }, (_, at) => `C${at}`)
    for (const coin of coins) store.add(barBatch(coin, barsFrom(START_MS, 48)))
    write()
    expect(store.health).toMatchObject({ state: 'ok', sinceMs: NOW_MS })
    for (const coin of coins) store.add(barBatch(coin, barsFrom(START_MS + 48 * DAY_MS, 48)))
    write(NOW_MS + 5)
    expect(store.health).toEqual({
      state: 'degraded',
      reason: 'SQLITE_FULL: database or disk is full',
      sinceMs: NOW_MS + 5,
      droppedRows: 0,
      damagedBlocks: 0,
      setAsideFiles: 0,
    })
    const recent = START_MS + 48 * DAY_MS
    for (const coin of coins) expect(store.bars(coin, recent)).toEqual(barsFrom(recent, 48))
    // Old blocks give their room back.
    tidy(NOW_MS + 6)
    write(NOW_MS + 7)
    expect(store.health).toMatchObject({ state: 'ok', reason: null, sinceMs: NOW_MS + 7 })
    expect(notices.map(({ kind }) => kind)).toEqual(['degraded', 'recovered'])
    reopen()
    for (const coin of coins) expect(store.bars(coin, 0)).toEqual(barsFrom(recent, 48))
  })

  test('does not call itself recovered while samples wait that a full disk refused', () => {
    store.close(NOW_MS)
    store = open({ pagesMax: 80 })
    const coins = Array.from({ length: 60 }, (_, at) => `C${at}`)
    store.add(batchOf({ samples: coins.map((coin) => sampleAt(coin, START_MS)) }))
    write()
    expect(store.health.state).toBe('degraded')
    write()
    expect(store.health.state).toBe('degraded')
  })

  test('loses the oldest rows, counted, when the disk stays full for too long', () => {
    store.close(NOW_MS)
    store = open({ pagesMax: 80 })
    const coins = Array.from({ length: 200 }, (_, at) => `C${at}`)
    for (let block = 0; block < 50; block += 1) {
      for (const coin of coins) store.add(barBatch(coin, [barAt(START_MS + block * BLOCK_MS)]))
      write()
    }
    const { state, droppedRows } = store.health
    expect(state).toBe('degraded')
    const kept = coins.flatMap((coin) => store.bars(coin, 0)).length
    expect(droppedRows).toBeGreaterThan(0)
    expect(kept + droppedRows).toBe(50 * 200)
    expect(store.bars('C199', START_MS + 49 * BLOCK_MS), 'the newest').toHaveLength(1)
  })

  test('goes on without a file that cannot be used, and takes it when it can be', () => {
    const busy = join(folder, 'busy.db')
    const holder = new Database(busy)
    holder.pragma('locking_mode = EXCLUSIVE')
    holder.exec('BEGIN EXCLUSIVE')
    store.close(NOW_MS)
    store = open({ path: busy })
    store.add(barBatch('BTC', [barAt(START_MS)]))
    write()
    expect(store.health).toMatchObject({ state: 'degraded', sinceMs: NOW_MS })
    expect(store.health.reason).toMatch(/busy\.db is held by another program: database is locked/)
    expect(store.bars('BTC', 0)).toHaveLength(1)
    holder.close()
    write(NOW_MS + 59_000)
    expect(store.health.state, 'not at once').toBe('degraded')
    write(NOW_MS + 60_000)
    expect(store.health.state).toBe('ok')
    expect(store.bars('BTC', 0)).toHaveLength(1)
  })

  test('is written while another program reads it', () => {
    store.add(barBatch('BTC', [barAt(START_MS)]))
    write()
    const reader = new Database(path, { readonly: true })
    reader.exec('BEGIN')
    expect(reader.prepare('SELECT count(*) FROM coin').pluck().get()).toBe(1)
    store.add(barBatch('ETH', [barAt(START_MS)]))
    write()
    expect(store.health.state).toBe('ok')
    reader.close()
    reopen()
    expect(store.bars('ETH', 0)).toHaveLength(1)
  })

  test('does not throw where no file can be', () => {
    mkdirSync(join(folder, 'taken', 'history.db'), { recursive: true })
    store.close(NOW_MS)
    store = open({ path: join(folder, 'taken', 'history.db') })
    expect(store.health.state).toBe('degraded')
    expect(readdirSync(join(folder, 'taken'))).toEqual(['history.db'])
  })

  function open(options: { path?: string; pagesMax?: number; days?: number } = {}): HistoryStore {
    return new HistoryStore(
      { path, onNotice: (notice) => notices.push(notice), ...options },
      NOW_MS,
    )
  }

  function reopen(): void {
    store.close(NOW_MS)
    store = open()
  }

  /** @returns in how many slices. */
  function write(nowMs = NOW_MS): number {
    return [...store.write(nowMs)].length
  }

  function tidy(nowMs = NOW_MS): void {
    for (const _ of store.tidy(nowMs));
  }
})

function row({ timeMs, value }: MeasureMinute) {
  return { timeMs, value }
}
