import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { WalCheckpointer } from './wal-checkpoint.ts'
import { WalLog } from './wal-checkpoint.ts'
import { walCheckpointThread } from './wal-checkpoint-thread.ts'

const WORKER = join(import.meta.dirname, 'wal-checkpoint-worker.ts')
const LONG = Buffer.alloc(17_000_000)

let folder: string
let path: string
let db: Database.Database

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perpscope-wal-'))
  path = join(folder, 'file.db')
  db = new Database(path)
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = NORMAL')
  db.exec('CREATE TABLE row (value)')
})

afterEach(() => rmSync(folder, { recursive: true }))

/** Each test waits for the disk, up to 68 MB of it, which other jobs may keep busy. */
const DISK_MS_MAX = 240_000

describe('the log of an open database', { timeout: DISK_MS_MAX }, () => {
  test('gets a checkpoint once it is long, and none before', () => {
    const thread = new Thread()
    const log = new WalLog(db, path, thread.checkpoint)
    put(log, 1)
    expect(thread.paths).toEqual([])
    put(log, LONG)
    expect(thread.paths).toEqual([path])
    log.close()
  })

  test('gets one checkpoint at a time, and another one for what was written during the first', () => {
    const thread = new Thread()
    const log = new WalLog(db, path, thread.checkpoint)
    put(log, LONG)
    put(log, 1)
    put(log, 2)
    expect(thread.paths).toHaveLength(1)
    thread.finish()
    expect(thread.paths).toHaveLength(2)
    thread.finish()
    expect(thread.paths).toHaveLength(2)
    log.close()
  })

  test('that a killed writer left long gets a checkpoint with the first write', () => {
    const before = new WalLog(db, path, new Thread().checkpoint)
    put(before, LONG)
    const copy = join(folder, 'copy.db')
    for (const end of ['', '-wal']) copyFileSync(path + end, copy + end)
    before.close()
    const thread = new Thread()
    db = new Database(copy)
    expect(db.prepare('SELECT count(*) FROM row').pluck().get()).toBe(1)
    const log = new WalLog(db, copy, thread.checkpoint)
    put(log, 1)
    expect(thread.paths).toEqual([copy])
    log.close()
  })

  test('is written to again after a failed checkpoint only when another one has succeeded', () => {
    const thread = new Thread()
    const log = new WalLog(db, path, thread.checkpoint)
    put(log, LONG)
    thread.finish(new Error('disk I/O error'))
    const failure = expect.objectContaining({
      code: 'wal_checkpoint_failed',
      cause: new Error('disk I/O error'),
    })
    expect(() => put(log, 0)).toThrow(failure)
    expect(() => put(log, 0), 'while the next one runs').toThrow(failure)
    expect(thread.paths).toHaveLength(2)
    thread.finish(new Error('disk I/O error'))
    expect(() => put(log, 0)).toThrow(failure)
    thread.finish()
    put(log, 2)
    log.close()
    expect(valuesOf(path).map(isLong)).toEqual([false, true])
  })

  test.each(['', '-wal'])('refuses to go on where file%s was removed', (end) => {
    const log = new WalLog(db, path, undefined)
    put(log, 1)
    rmSync(path + end)
    expect(() => put(log, 0)).toThrow(expect.objectContaining({ code: 'file_gone' }))
    log.close()
  })

  test.each(['', '-wal'])('refuses to go on where file%s was replaced', (end) => {
    const log = new WalLog(db, path, undefined)
    put(log, 1)
    copyFileSync(path + end, join(folder, 'other'))
    renameSync(join(folder, 'other'), path + end)
    expect(() => put(log, 0)).toThrow(expect.objectContaining({ code: 'file_gone' }))
    log.close()
  })

  test('leaves another file and its log alone that were put in the place of its own', () => {
    const log = new WalLog(db, path, undefined)
    put(log, 1)
    for (const end of ['', '-wal']) {
      rmSync(path + end)
      writeFileSync(path + end, `another file${end}`)
    }
    log.close()
    for (const end of ['', '-wal'])
      expect(readFileSync(path + end, 'utf8')).toBe(`another file${end}`)
  })

  test('is removed where its file was replaced: SQLite would replay it into the other one', () => {
    const log = new WalLog(db, path, undefined)
    put(log, 1)
    copyFileSync(path, join(folder, 'other'))
    renameSync(join(folder, 'other'), path)
    log.close()
    expect(existsSync(`${path}-wal`)).toBe(false)
  })

  test('is in the file after it was closed', () => {
    const log = new WalLog(db, path, new Thread().checkpoint)
    put(log, 1)
    log.close()
    expect(existsSync(`${path}-wal`)).toBe(false)
    expect(valuesOf(path)).toEqual([1])
  })

  test('gets its checkpoints from SQLite itself where there is no other thread', () => {
    const log = new WalLog(db, path, undefined)
    for (let round = 0; round < 4; round += 1) put(log, LONG)
    put(log, 1)
    expect(statSync(`${path}-wal`).size).toBeLessThan(LONG.length)
    log.close()
  })
})

describe('the thread for checkpoints', { timeout: DISK_MS_MAX }, () => {
  test('moves the log into the file while the database is open, and the next write cuts the log', async () => {
    const thread = walCheckpointThread(WORKER)
    const done = Promise.withResolvers<Error | null>()
    const log = new WalLog(db, path, (at, ended) =>
      thread.checkpoint(at, (error) => {
        ended(error)
        done.resolve(error)
      }),
    )
    put(log, LONG)
    expect(await done.promise).toBeNull()
    const copy = join(folder, 'copy.db')
    copyFileSync(path, copy)
    expect(valuesOf(copy).map(isLong), 'without the log').toEqual([true])
    put(log, 1)
    expect(statSync(`${path}-wal`).size).toBeLessThan(100_000)
    log.close()
    thread.close()
  })

  test('ends after the last of its checkpoints, and starts again for the next', async () => {
    const started: Worker[] = []
    const onWorker = (worker: Worker) => started.push(worker)
    process.on('worker', onWorker)
    onTestFinished(() => void process.off('worker', onWorker))
    const thread = walCheckpointThread(WORKER)
    const checkpoint = () =>
      new Promise<Error | null>((resolve) => thread.checkpoint(path, resolve))
    for (let round = 1; round <= 2; round += 1) {
      expect(await Promise.all([checkpoint(), checkpoint()])).toEqual([null, null])
      expect(started).toHaveLength(round)
      await new Promise((resolve) => started.at(-1)?.once('exit', resolve))
    }
    db.close()
  })

  test('reports what SQLite reports', async () => {
    const thread = walCheckpointThread(WORKER)
    const failed = await new Promise<Error | null>((resolve) =>
      thread.checkpoint(join(folder, 'absent.db'), resolve),
    )
    expect(failed?.message).toMatch(/unable to open/)
    thread.close()
  })

  test('that cannot start fails every checkpoint, and the next one starts another', async () => {
    const thread = walCheckpointThread(join(folder, 'absent.js'))
    for (let round = 0; round < 2; round += 1) {
      const failed = await new Promise<Error | null>((resolve) => thread.checkpoint(path, resolve))
      expect(failed?.message).toMatch(/Cannot find module/)
    }
  })
})

function put(log: WalLog, value: number | Buffer): void {
  log.write(() => db.prepare('INSERT INTO row VALUES (?)').run(value))
}

/** `toEqual` would list the millions of indexes of both. */
function isLong(value: unknown): boolean {
  return Buffer.isBuffer(value) && value.equals(LONG)
}

function valuesOf(path: string): unknown[] {
  const file = new Database(path)
  const values = file.prepare('SELECT value FROM row ORDER BY value').pluck().all()
  file.close()
  return values
}

/** A thread that is done when the test says so. */
class Thread {
  readonly paths: string[] = []
  #done: ((error: Error | null) => void) | null = null

  readonly checkpoint: WalCheckpointer = (path, done) => {
    this.paths.push(path)
    this.#done = done
  }

  finish(error: Error | null = null): void {
    this.#done?.(error)
  }
}
