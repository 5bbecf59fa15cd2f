import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { inspectHistory } from './history-inspection.ts'
import { HistoryStore } from './history-store.ts'
import { barBatch, barsFrom, batchOf, START_MS, sampleAt } from './testing/history-rows.ts'

const NOW_MS = START_MS + 86_400_000

describe('inspection of a history file', () => {
  let folder: string
  let path: string

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'perpscope-inspection-'))
    path = join(folder, 'history.db')
  })

  afterEach(() => rmSync(folder, { recursive: true }))

  test('says what it holds', () => {
    filled().close(NOW_MS)
    expect(inspectHistory(path)).toMatchObject({
      state: 'readable',
      version: 4,
      found: {
        coins: 2,
        measures: 1,
        // The sample of the quarter is kept twice.
        rows: 104,
        damagedBlocks: 0,
        oldestMs: START_MS - 900_000,
        newestMs: START_MS + 99 * 3_600_000,
      },
    })
  })

  test('changes nothing', () => {
    filled().close(NOW_MS)
    const before = readFileSync(path)
    inspectHistory(path)
    expect(readFileSync(path).equals(before)).toBe(true)
  })

  test('reads what a killed service has not copied into the file yet', () => {
    const store = filled()
    const [copy, wal] = [join(folder, 'copy.db'), readFileSync(`${path}-wal`)]
    writeFileSync(copy, readFileSync(path))
    writeFileSync(`${copy}-wal`, wal)
    expect(inspectHistory(copy)).toMatchObject({ state: 'readable', found: { rows: 104 } })
    store.close(NOW_MS)
  })

  test('does not call a file of no use that it cannot look at, and that a service opens later', () => {
    const store = filled()
    const copy = join(folder, 'copy.db')
    writeFileSync(copy, readFileSync(path))
    writeFileSync(`${copy}-wal`, readFileSync(`${path}-wal`))
    store.close(NOW_MS)
    // Whoever only reads makes this file beside it, which a full disk refuses as well.
    symlinkSync(join(folder, 'nowhere'), `${copy}-shm`)
    expect(() => inspectHistory(copy)).toThrow(/unable to open/)
    rmSync(`${copy}-shm`)
    const opened = new HistoryStore({ path: copy, onNotice: () => undefined }, NOW_MS)
    expect(opened.bars('BTC', START_MS)).toHaveLength(100)
    opened.close(NOW_MS)
  })

  test('reads it while a service writes it', () => {
    const store = filled()
    expect(inspectHistory(path)).toMatchObject({ state: 'readable', found: { rows: 104 } })
    store.add(barBatch('BTC', barsFrom(START_MS, 1)))
    store.close(NOW_MS)
    expect(store.health.state, 'and does not disturb it').toBe('ok')
  })

  test('says that there is none', () => {
    expect(inspectHistory(path)).toEqual({ state: 'absent' })
  })

  test('counts damaged blocks', () => {
    filled().close(NOW_MS)
    const raw = new Database(path)
    raw.prepare('UPDATE block_01 SET crc = crc + 1').run()
    raw.close()
    expect(inspectHistory(path)).toMatchObject({
      state: 'readable',
      found: { rows: 4, damagedBlocks: 2 },
    })
  })

  test.each([
    ['text', 'this is no database, and it is longer than a header'.repeat(100)],
    ['another database', null],
  ])('says why %s is of no use', (_what, text) => {
    if (text === null) new Database(path).exec('CREATE TABLE other (id)').close()
    else writeFileSync(path, text)
    expect(inspectHistory(path)).toMatchObject({
      state: 'unusable',
      reason: text === null ? 'not the schema of version 0' : 'file is not a database',
    })
  })

  function filled(): HistoryStore {
    const store = new HistoryStore({ path, onNotice: () => undefined }, NOW_MS)
    const early = START_MS - 900_000
    store.add(barBatch('BTC', barsFrom(START_MS, 100)))
    store.add(batchOf({ samples: [sampleAt('ETH', early), sampleAt('ETH', early + 60_000)] }))
    store.add(batchOf({ measures: [{ series: 'basis/BTC', timeMs: START_MS, value: 1.5 }] }))
    for (const _ of store.write(NOW_MS, true));
    return store
  }
})
