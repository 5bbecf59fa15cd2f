import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Checkpoint } from '../domain/checkpoint.ts'
import { CheckpointDb } from './checkpoint-db.ts'
import { CheckpointStore } from './checkpoint-store.ts'

const NOW_MS = Date.UTC(2026, 0, 1)

const checkpoint: Checkpoint = {
  version: 7,
  listings: [],
  coins: new Map(['BTC', 'ETH'].map((coin, at) => [coin, Float64Array.of(at)])),
}

describe('the checkpoint of an engine at work', () => {
  let folder: string
  let path: string
  let told: string[]
  let store: CheckpointStore

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'perpscope-checkpoint-store-'))
    path = join(folder, 'engine.db')
    told = []
    const onSetAside = (...words: readonly string[]) => told.push(words.join(': '))
    store = new CheckpointStore({ path, onSetAside }, NOW_MS)
    write()
  })

  afterEach(() => rmSync(folder, { recursive: true }))

  test('is set aside where it is damaged, and all of it is in a new file at once', () => {
    writeDamaged(1)
    expect(told).toEqual([`${path}.corrupt-${NOW_MS}: database disk image is malformed`])
    expect(afterKill()).toEqual(checkpoint)
    close()
  })

  test('is not begun anew twice at once', () => {
    expect(() => writeDamaged(2)).toThrow('malformed')
    expect(told).toHaveLength(1)
    close()
  })

  test('is written whole into a new file where it was removed', () => {
    remove()
    write()
    expect(told).toEqual([])
    expect(afterKill()).toEqual(checkpoint)
    close()
  })

  test('is saved at the end also where it was removed', () => {
    remove()
    close()
    expect(reloaded(path)).toEqual(checkpoint)
  })

  test('is begun once that is possible', () => {
    remove()
    mkdirSync(path)
    expect(write).toThrow(/engine\.db cannot be used/)
    expect(write).toThrow(/engine\.db cannot be used/)
    rmSync(path, { recursive: true })
    write()
    close()
    expect(reloaded(path)).toEqual(checkpoint)
  })

  function write(): void {
    for (const _ of store.write(
      (db) => db.save(checkpoint),
      () => NOW_MS,
    ));
  }

  /** As SQLite does where a page contradicts another one, so many times. */
  function writeDamaged(times: number): void {
    let left = times
    const task = function* (db: CheckpointDb) {
      yield* db.save({ ...checkpoint, coins: new Map() })
      left -= 1
      if (left >= 0)
        throw new Database.SqliteError('database disk image is malformed', 'SQLITE_CORRUPT')
      yield* db.save(checkpoint)
    }
    for (const _ of store.write(task, () => NOW_MS));
  }

  function close(): void {
    store.close(checkpoint, NOW_MS)
  }

  function remove(): void {
    for (const name of readdirSync(folder)) rmSync(join(folder, name))
  }

  function afterKill(): Checkpoint | null {
    const copy = mkdtempSync(join(folder, 'copy-'))
    for (const end of ['', '-wal']) copyFileSync(`${path}${end}`, join(copy, `engine.db${end}`))
    return reloaded(join(copy, 'engine.db'))
  }
})

function reloaded(path: string): Checkpoint | null {
  const { db } = CheckpointDb.open(path, NOW_MS)
  const loaded = db.load()
  db.close()
  return loaded
}
