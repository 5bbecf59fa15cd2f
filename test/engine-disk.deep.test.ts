import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SqliteError } from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { CheckpointDb } from '../src/store/checkpoint-db.ts'
import { HistoryStore } from '../src/store/history-store.ts'
import { SimulatedService } from './support/simulated-service.ts'

/** An hour closes 45 s later; after 30 s an engine has the data of the venue. */
const START_MS = Date.UTC(2026, 9, 7, 15, 59, 15)
const READY_S = 30
const CLOSED_MS = Date.UTC(2026, 9, 7, 15)
const DAY_MS = 24 * 3_600_000

/** An engine in virtual time whose disk refuses the checkpoint, like a full one, and accepts other writes. */
describe('while the checkpoint is refused', () => {
  let folder: string
  let service: SimulatedService

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'perpscope-engine-disk-'))
    const options = { seed: 5, coins: 2, dataDir: folder, version: '1.2.3', startMs: START_MS }
    service = new SimulatedService(options)
    service.run(READY_S)
  })

  afterEach(() => {
    vi.restoreAllMocks()
    rmSync(folder, { recursive: true })
  })

  const refuse = () =>
    vi.spyOn(CheckpointDb.prototype, 'begin').mockImplementation(() => {
      throw new Error('database or disk is full')
    })
  const health = () => service.replica.store()

  /** Stored bars as after a SIGKILL now. */
  const barsOnDisk = (): readonly number[] => {
    const copy = join(folder, 'copy')
    mkdirSync(copy)
    for (const name of ['history.db', 'history.db-wal']) {
      const path = join(folder, 'data', name)
      if (existsSync(path)) copyFileSync(path, join(copy, name))
    }
    const store = new HistoryStore({ path: join(copy, 'history.db'), onNotice: () => {} }, START_MS)
    const bars = store.bars('BTC', CLOSED_MS)
    store.close(START_MS)
    return bars.map(({ openTimeMs }) => openTimeMs)
  }

  test('history continues', () => {
    refuse()
    service.run(45)
    expect(barsOnDisk()).toEqual([CLOSED_MS])
    service.stop()
  })

  test('the fault is reported until it is over', () => {
    const refusing = refuse()
    service.run(20)
    expect(health()).toMatchObject({
      state: 'degraded',
      reason: 'checkpoint: database or disk is full',
    })
    refusing.mockRestore()
    service.run(30)
    expect(health()).toMatchObject({ state: 'ok', reason: null })
    service.stop()
  })

  test('the end of the service closes all files, and loses no history', () => {
    refuse()
    service.run(45)
    expect(() => service.stop()).not.toThrow()
    expect(CheckpointDb.inspect(join(folder, 'data', 'engine.db')).state).toBe('readable')
    expect(barsOnDisk()).toEqual([CLOSED_MS])
  })
})

describe('a checkpoint that is damaged under a running engine', () => {
  test('is set aside, and the state of the engine is in a new one before its next round', () => {
    const folder = mkdtempSync(join(tmpdir(), 'perpscope-engine-damage-'))
    const path = join(folder, 'data', 'engine.db')
    const options = { seed: 5, coins: 2, dataDir: folder, version: '1.2.3', startMs: START_MS }
    const service = new SimulatedService(options)
    try {
      service.run(READY_S)
      vi.spyOn(CheckpointDb.prototype, 'put').mockImplementationOnce(() => {
        throw new SqliteError('database disk image is malformed', 'SQLITE_CORRUPT')
      })
      service.run(15)
      expect(service.replica.store()).toMatchObject({ state: 'ok' })
      const names = readdirSync(join(folder, 'data'))
      expect(names.filter((name) => /^engine\.db\.corrupt-\d+$/.test(name))).toHaveLength(1)
      const copy = join(folder, 'copy.db')
      for (const end of ['', '-wal']) copyFileSync(`${path}${end}`, `${copy}${end}`)
      const { db } = CheckpointDb.open(copy, START_MS)
      expect([...(db.load()?.coins.keys() ?? [])].toSorted()).toEqual(['*', 'BTC', 'ETH'])
      db.close()
      service.stop()
    } finally {
      vi.restoreAllMocks()
      rmSync(folder, { recursive: true })
    }
  })
})

test('a checkpoint drops a delisted coin, and no other one', () => {
  const folder = mkdtempSync(join(tmpdir(), 'perpscope-engine-delisted-'))
  const path = join(folder, 'data', 'engine.db')
  const options = { seed: 5, coins: 2, dataDir: folder, version: '1.2.3' }
  const namesAfter = (startMs: number) => {
    const service = new SimulatedService({ ...options, startMs })
    service.run(READY_S)
    service.stop()
    const { db } = CheckpointDb.open(path, startMs)
    const checkpoint = db.load()
    if (checkpoint !== null) {
      const gone = new Map(checkpoint.coins).set('GONE', Float64Array.of(1))
      for (const _ of db.save({ ...checkpoint, coins: gone }));
    }
    db.close()
    return [...(checkpoint?.coins.keys() ?? [])].toSorted()
  }
  try {
    expect(namesAfter(START_MS)).toEqual(['*', 'BTC', 'ETH'])
    expect(namesAfter(START_MS + 60_000), 'after a row of another one was there').toEqual([
      ...['*', 'BTC', 'ETH'],
    ])
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('documents of the previous run that cannot be sent do not keep an engine from starting', () => {
  const folder = mkdtempSync(join(tmpdir(), 'perpscope-engine-unsent-'))
  const options = { seed: 5, coins: 2, dataDir: folder, version: '1.2.3' }
  try {
    const first = new SimulatedService({ ...options, startMs: START_MS })
    first.run(READY_S)
    first.stop()
    let refused = 0
    const second = new SimulatedService({
      ...options,
      startMs: START_MS + 40_000,
      onMessage: ({ kind }) => {
        if (kind !== 'documents' || refused > 0) return
        refused += 1
        throw new DOMException('could not be cloned', 'DataCloneError')
      },
    })
    expect(refused).toBe(1)
    second.run(5)
    expect(second.replica.document('pulse/BTC')?.renderedAtMs).toBeGreaterThan(START_MS + 40_000)
    second.stop()
  } finally {
    rmSync(folder, { recursive: true })
  }
})

describe('a history that is damaged', () => {
  test('is set aside at the start of an engine, reported, and refilled with the data of the venue', () => {
    const folder = mkdtempSync(join(tmpdir(), 'perpscope-engine-damage-'))
    const path = join(folder, 'data', 'history.db')
    // No hour closes while the engines run.
    const startMs = START_MS - 45 * 60_000
    const options = { seed: 5, coins: 1, dataDir: folder, version: '1.2.3' }
    const start = (atMs: number) => new SimulatedService({ ...options, startMs: atMs })
    const hours = () => {
      const store = new HistoryStore({ path, onNotice: () => {} }, startMs)
      const bars = store.bars('BTC', startMs - 20 * DAY_MS)
      store.close(startMs)
      return bars.map(({ openTimeMs }) => openTimeMs)
    }
    try {
      const first = start(startMs)
      first.run(60)
      first.stop()
      const before = hours()
      expect(before.length).toBeGreaterThan(19 * 24)
      const bytes = readFileSync(path)
      writeFileSync(path, bytes.fill(0x5a, 0, 4_096))

      const second = start(startMs + 180_000)
      second.run(60)
      const health = second.replica.store()
      second.stop()
      expect(health).toMatchObject({ state: 'ok' })
      const names = readdirSync(join(folder, 'data'))
      expect(names.filter((name) => /^history\.db\.corrupt-\d+$/.test(name))).toHaveLength(1)
      expect(hours()).toEqual(before)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
