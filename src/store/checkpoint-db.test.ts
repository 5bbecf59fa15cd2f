import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Checkpoint } from '../domain/checkpoint.ts'
import { CheckpointDb, ROWS_PER_SLICE } from './checkpoint-db.ts'

const NOW_MS = Date.UTC(2026, 0, 1)

const checkpoint: Checkpoint = {
  version: 7_000_000_000_000_000,
  listings: [
    {
      coin: 'kPEPE',
      sizeDecimals: 0,
      maxLeverage: 10,
      marginTiers: [
        { lowerBoundUsd: 0, maxLeverage: 10 },
        { lowerBoundUsd: 20_000_000, maxLeverage: 5 },
      ],
      isDelisted: false,
    },
  ],
  coins: new Map(
    Array.from({ length: 150 }, (_, index) => [
      `C${index}`,
      Float64Array.of(index, Number.NaN, -0, 1e-308),
    ]),
  ),
}

describe('checkpoint', () => {
  let folder: string
  let path: string

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'perpscope-checkpoint-'))
    path = join(folder, 'deep', 'engine.db')
  })

  afterEach(() => rmSync(folder, { recursive: true }))

  test('comes back bit for bit, NaN and negative zero included', () => {
    const { db } = CheckpointDb.open(path, NOW_MS)
    drain(db.save(checkpoint))
    db.close()
    expect(reload()).toEqual(checkpoint)
  })

  test('is absent before the first save', () => {
    expect(reload()).toBeNull()
  })

  test('keeps what was written when the writer stops between two slices', () => {
    const { db } = CheckpointDb.open(path, NOW_MS)
    const slices = db.save(checkpoint)
    slices.next()
    slices.next()
    db.close()
    expect(reload()?.coins.size, 'exactly the first rows').toBe(ROWS_PER_SLICE)
  })

  test('leaves out a row whose bytes changed on disk', () => {
    const { db } = CheckpointDb.open(path, NOW_MS)
    drain(db.save(checkpoint))
    db.close()
    const raw = new Database(path)
    raw.prepare("UPDATE coin SET state = zeroblob(32) WHERE name = 'C1'").run()
    raw.close()
    const coins = reload()?.coins
    expect(coins?.has('C1')).toBe(false)
    expect(coins?.size).toBe(149)
  })

  test('does not read a list of coins whose bytes changed on disk', () => {
    const { db } = CheckpointDb.open(path, NOW_MS)
    drain(db.save(checkpoint))
    db.close()
    const raw = new Database(path)
    raw.prepare("UPDATE engine SET listings = '[{'").run()
    raw.close()
    expect(reload()).toBeNull()
  })

  test('sets a damaged file aside and starts anew', () => {
    CheckpointDb.open(path, NOW_MS).db.close()
    writeFileSync(path, 'this is not a database, and it is longer than a header'.repeat(100))
    const { db, setAside, reason } = CheckpointDb.open(path, NOW_MS)
    expect(setAside).toBe(`${path}.corrupt-${NOW_MS}`)
    expect(reason).toBe('file is not a database')
    expect(db.load()).toBeNull()
    db.close()
    expect(readdirSync(join(folder, 'deep'))).toContain(`engine.db.corrupt-${NOW_MS}`)
  })

  test('tells where a damaged file was moved also when no new one can be begun', () => {
    CheckpointDb.open(path, NOW_MS).db.close()
    writeFileSync(path, 'this is not a database, and it is longer than a header'.repeat(100))
    vi.spyOn(Database.prototype, 'exec').mockImplementationOnce(() => {
      throw new Database.SqliteError('database or disk is full', 'SQLITE_FULL')
    })
    expect(() => CheckpointDb.open(path, NOW_MS)).toThrow(
      expect.objectContaining({
        code: 'checkpoint_unusable',
        message: `${path} was moved to ${path}.corrupt-${NOW_MS} (file is not a database), and no new checkpoint can be begun`,
        cause: expect.objectContaining({ code: 'SQLITE_FULL' }),
      }),
    )
  })

  test('does not read a file of another schema version', () => {
    const { db } = CheckpointDb.open(path, NOW_MS)
    drain(db.save(checkpoint))
    db.close()
    const raw = new Database(path)
    raw.pragma('user_version = 99')
    raw.close()
    const { db: fresh, reason } = CheckpointDb.open(path, NOW_MS)
    expect(reason).toBe('schema version 99')
    expect(fresh.load()).toBeNull()
    fresh.close()
  })

  test('sets a file aside whose pages contradict each other', () => {
    const { db } = CheckpointDb.open(path, NOW_MS)
    drain(db.save(checkpoint))
    db.close()
    const bytes = readFileSync(path)
    bytes.fill(0xff, 3 * 4_096, 4 * 4_096)
    writeFileSync(path, bytes)
    const { db: fresh, setAside, reason } = CheckpointDb.open(path, NOW_MS)
    expect(setAside).not.toBeNull()
    expect(reason).toMatch(/quick_check|malformed/)
    fresh.close()
  })

  test('leaves a file alone that another program writes', () => {
    CheckpointDb.open(path, NOW_MS).db.close()
    const raw = new Database(path)
    raw.pragma('locking_mode = EXCLUSIVE')
    raw.exec('BEGIN EXCLUSIVE')
    expect(() => CheckpointDb.open(path, NOW_MS)).toThrow(
      expect.objectContaining({
        code: 'checkpoint_unusable',
        cause: expect.objectContaining({ code: 'SQLITE_BUSY' }),
      }),
    )
    raw.close()
    expect(readdirSync(join(folder, 'deep')).filter((name) => name.includes('corrupt'))).toEqual([])
  })

  test('forgets the rows of all names but those that are to be kept', () => {
    const { db } = CheckpointDb.open(path, NOW_MS)
    drain(db.save(checkpoint))
    const kept = [...checkpoint.coins.keys()].filter((_, at) => at % 3 === 0)
    db.retain(new Set([...kept, 'NEW']))
    db.close()
    expect([...(reload()?.coins.keys() ?? [])].toSorted()).toEqual(kept.toSorted())
  })

  test('does not count the row of the whole market as a coin', () => {
    const { db } = CheckpointDb.open(path, NOW_MS)
    drain(db.save({ ...checkpoint, coins: new Map([['*', Float64Array.of(1)]]) }))
    db.close()
    expect(CheckpointDb.inspect(path)).toMatchObject({ found: { coins: 0 } })
  })

  test('can be read without being opened', () => {
    expect(CheckpointDb.inspect(path)).toEqual({ state: 'absent' })
    const { db } = CheckpointDb.open(path, NOW_MS)
    drain(db.save(checkpoint))
    const readable = { state: 'readable', version: 1, found: { coins: 150 } }
    expect(CheckpointDb.inspect(path), 'while an engine writes it').toMatchObject(readable)
    db.close()
    expect(CheckpointDb.inspect(path)).toMatchObject(readable)
    writeFileSync(path, 'this is not a database, and it is longer than a header'.repeat(100))
    expect(CheckpointDb.inspect(path)).toMatchObject({
      state: 'unusable',
      reason: 'file is not a database',
    })
  })

  test('leaves alone what cannot be opened', () => {
    mkdirSync(path, { recursive: true })
    expect(() => CheckpointDb.open(path, NOW_MS)).toThrow(/cannot be used/)
    expect(readdirSync(join(folder, 'deep'))).toEqual(['engine.db'])
  })

  function reload(): Checkpoint | null {
    const { db } = CheckpointDb.open(path, NOW_MS)
    const loaded = db.load()
    db.close()
    return loaded
  }
})

function drain(slices: Generator<unknown>): void {
  for (const _ of slices);
}
