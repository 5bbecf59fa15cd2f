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
import Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { FileSync } from './wal-copy.ts'
import { syncAtOnce, WalCopy } from './wal-copy.ts'

describe('copying a log', () => {
  let folder: string
  let path: string
  let db: Database.Database

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'perpscope-wal-'))
    path = join(folder, 'file.db')
    db = new Database(path)
    db.pragma('locking_mode = EXCLUSIVE')
    db.pragma('journal_mode = WAL')
    db.pragma('synchronous = OFF')
    db.pragma('wal_autocheckpoint = 0')
    db.exec('CREATE TABLE row (value INTEGER)')
  })

  afterEach(() => rmSync(folder, { recursive: true }))

  test('empties the log, and the file has everything', () => {
    const copy = new WalCopy(db, path, syncAtOnce)
    put(1, 2, 3)
    expect([...copy.run()]).toEqual(['copied', 'copied'])
    expect(statSync(`${path}-wal`).size).toBe(0)
    const alone = join(folder, 'alone.db')
    copyFileSync(path, alone)
    expect(valuesOf(new Database(alone))).toEqual([1, 2, 3])
    put(4)
    copy.close()
    expect(valuesOf(new Database(path))).toEqual([1, 2, 3, 4])
  })

  test('brings the log to the disk first, then the file, then the emptied log', () => {
    const disk = new Disk()
    const copy = new WalCopy(db, path, disk.sync)
    put(1)
    const logBytes = () => statSync(`${path}-wal`).size
    const fileBytes = () => statSync(path).size
    const [loggedBytes, beforeBytes] = [logBytes(), fileBytes()]
    const slices = copy.run()
    expect(slices.next().value).toBe('waiting')
    expect(slices.next().value, 'as long as it takes').toBe('waiting')
    expect([logBytes(), fileBytes()]).toEqual([loggedBytes, beforeBytes])
    disk.finish()
    expect(slices.next().value).toBe('copied')
    expect(logBytes(), 'kept until the file is on the disk').toBe(loggedBytes)
    expect(fileBytes()).toBeGreaterThan(beforeBytes)
    expect(slices.next().value).toBe('waiting')
    disk.finish()
    expect(slices.next().value).toBe('copied')
    expect(logBytes()).toBe(0)
    expect(slices.next().value).toBe('waiting')
    expect(copy.isDue).toBe(true)
    disk.finish()
    expect(slices.next().done).toBe(true)
    expect(copy.isDue).toBe(false)
    const [log, file, again] = disk.descriptors
    expect(again).toBe(log)
    expect(file).not.toBe(log)
    copy.close()
  })

  test('goes on where it was left', () => {
    const disk = new Disk()
    const copy = new WalCopy(db, path, disk.sync)
    put(1)
    expect(copy.run().next().value).toBe('waiting')
    disk.finish()
    expect(copy.run().next().value).toBe('copied')
    expect(disk.descriptors).toHaveLength(1)
    copy.close()
  })

  test('fails with the disk, and then believes no success of it: it tells of a failure once', () => {
    const disk = new Disk()
    const copy = new WalCopy(db, path, disk.sync)
    put(1)
    copy.run().next()
    disk.finish(new Error('EIO'))
    const failure = expect.objectContaining({ code: 'file_not_synced', cause: new Error('EIO') })
    expect(() => copy.run().next()).toThrow(failure)
    copy.hurry()
    expect(copy.isDue).toBe(true)
    expect(() => copy.run().next()).toThrow(failure)
    copy.close()
    expect(valuesOf(new Database(path))).toEqual([1])
  })

  test.each([0, 1])('keeps the log where sync %i failed, for whoever opens the file next', (at) => {
    const onDisk = readFileSync(path)
    put(1)
    const results = [null, null]
    const sync: FileSync = (_descriptor, done) => done(results.shift() ?? null)
    results.splice(at, 0, new Error('EIO') as never)
    const copy = new WalCopy(db, path, sync)
    expect(() => [...copy.run()]).toThrow('does not reach the disk')
    copy.close()
    // What was copied into the file has not reached the disk.
    writeFileSync(path, onDisk)
    expect(valuesOf(new Database(path))).toEqual([1])
  })

  test('leaves another file alone, and its log, that were put in the place of its own', () => {
    const copy = new WalCopy(db, path, syncAtOnce)
    put(1)
    for (const end of ['', '-wal']) {
      rmSync(`${path}${end}`)
      writeFileSync(`${path}${end}`, `another file${end}`)
    }
    copy.close()
    for (const end of ['', '-wal'])
      expect(readFileSync(`${path}${end}`, 'utf8')).toBe(`another file${end}`)
  })

  test.each(['', '-wal'])('leaves no log where file%s of two was replaced', (end) => {
    const copy = new WalCopy(db, path, syncAtOnce)
    put(1)
    copyFileSync(`${path}${end}`, join(folder, 'other'))
    renameSync(join(folder, 'other'), `${path}${end}`)
    copy.close()
    expect(existsSync(`${path}-wal`)).toBe(false)
  })

  test('keeps the lock of the database', () => {
    const copy = new WalCopy(db, path, syncAtOnce)
    put(1)
    expect([...copy.run()]).toHaveLength(2)
    const other = new Database(path, { timeout: 0 })
    expect(() => other.prepare('SELECT * FROM row').all()).toThrow(/locked/)
    other.close()
    copy.close()
  })

  test('is due once the log is long, whoever wrote it', () => {
    const copy = new WalCopy(db, path, syncAtOnce)
    put(1)
    expect(copy.isDue).toBe(false)
    db.prepare('INSERT INTO row VALUES (zeroblob(600000))').run()
    expect(copy.isDue).toBe(true)
    expect(new WalCopy(db, path, syncAtOnce).isDue, 'what a killed writer has left').toBe(true)
    expect([...copy.run()]).toHaveLength(2)
    expect(copy.isDue).toBe(false)
    copy.close()
  })

  test('copies nothing in parts for whoever is in a hurry', () => {
    const copy = new WalCopy(db, path, syncAtOnce)
    copy.hurry()
    db.prepare('INSERT INTO row VALUES (zeroblob(600000))').run()
    expect(copy.isDue).toBe(false)
    copy.close()
    expect(valuesOf(new Database(path))).toEqual([Buffer.alloc(600_000)])
  })

  test.each(['', '-wal'])('tells of a file%s that was removed, also while it is open', (end) => {
    const copy = new WalCopy(db, path, syncAtOnce)
    put(1)
    expect([...copy.run()]).toHaveLength(2)
    rmSync(`${path}${end}`)
    put(2)
    expect(() => [...copy.run()]).toThrow(expect.objectContaining({ code: 'file_gone' }))
    expect(copy.isDue).toBe(true)
    copy.close()
  })

  test.each(['', '-wal'])('tells of a file%s that another one took the place of', (end) => {
    const copy = new WalCopy(db, path, syncAtOnce)
    put(1)
    copyFileSync(`${path}${end}`, join(folder, 'other'))
    renameSync(join(folder, 'other'), `${path}${end}`)
    expect(copy.isDue).toBe(true)
    expect(() => [...copy.run()]).toThrow(expect.objectContaining({ code: 'file_gone' }))
    copy.close()
  })

  test('closes without having copied, and loses nothing', () => {
    const copy = new WalCopy(db, path, syncAtOnce)
    put(1, 2)
    copy.close()
    expect(valuesOf(new Database(path))).toEqual([1, 2])
  })

  function put(...values: number[]): void {
    for (const value of values) db.prepare('INSERT INTO row VALUES (?)').run(value)
  }
})

function valuesOf(db: Database.Database): unknown[] {
  const values = db.prepare('SELECT value FROM row ORDER BY value').pluck().all()
  db.close()
  return values
}

/** A disk that is ready when the test says so. */
class Disk {
  readonly descriptors: number[] = []
  #done: ((error: Error | null) => void) | null = null

  readonly sync: FileSync = (descriptor, done) => {
    this.descriptors.push(descriptor)
    this.#done = done
  }

  finish(error: Error | null = null): void {
    this.#done?.(error)
  }
}
