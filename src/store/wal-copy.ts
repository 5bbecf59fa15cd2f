import {
  closeSync,
  copyFileSync,
  fdatasync,
  fdatasyncSync,
  openSync,
  renameSync,
  rmSync,
} from 'node:fs'
import type Database from 'better-sqlite3'
import { OperatingError } from '../domain/errors.ts'
import { statPresent } from './present-file.ts'

/** Brings what was written to an open file onto the disk, and calls when it is there, or why it is not. */
export type FileSync = (descriptor: number, done: (error: Error | null) => void) => void

/** Waits for the disk. */
export const syncAtOnce: FileSync = (descriptor, done) => {
  try {
    fdatasyncSync(descriptor)
    done(null)
  } catch (cause) {
    done(cause as Error)
  }
}

/** Another thread waits for the disk. */
export const syncInBackground: FileSync = (descriptor, done) => fdatasync(descriptor, done)

/**
 * So long is a log when it is copied: short enough that a machine four times as slow as usual copies it
 * within the 5 ms for which anything may hold the event loop.
 */
const LOG_BYTES_MAX = 512 * 1024

/** `waiting`: nothing was done, the disk is not ready yet. */
export type CopyStep = 'copied' | 'waiting'

/**
 * Copies the log of a database (WAL) into its file without holding the caller while the disk works. SQLite
 * itself is told not to wait (`synchronous = OFF`), so the order that keeps the file whole over a power cut
 * is kept here: the log is on the disk before the file is touched, the file before the log is emptied, and
 * the emptied log before anything is added to it. For the last reason nothing may be written meanwhile.
 */
export class WalCopy {
  readonly #db: Database.Database
  readonly #path: string
  #sync: FileSync
  #logBytesMax = LOG_BYTES_MAX
  /** Open as long as the database: closing them would drop the locks that SQLite holds on the same file. */
  #file: number | null = null
  #log: number | null = null
  /** Of the files that SQLite has open, by where they were then. */
  readonly #inodes: readonly (readonly [path: string, inode: number | undefined])[]
  #steps: Generator<CopyStep> | null = null
  #isUnfinished = false
  /** The disk tells of a failure once, whatever was lost: no success after it is to be believed. */
  #failure: OperatingError | null = null

  constructor(db: Database.Database, path: string, sync: FileSync) {
    this.#db = db
    this.#path = path
    this.#sync = sync
    this.#inodes = [path, `${path}-wal`].map((part) => [part, statPresent(part)?.ino] as const)
  }

  /**
   * Has to be run to its end before anything is written: it was begun and did not end well, or the log is
   * long, whoever wrote it, or a file is gone.
   */
  get isDue(): boolean {
    if (this.#isUnfinished || this.#gonePath() !== undefined) return true
    return (statPresent(`${this.#path}-wal`)?.size ?? 0) >= this.#logBytesMax
  }

  /**
   * Nobody will come back for the next slice: from now on whoever calls waits for the disk, so what is written
   * until {@link close} is copied then, at once.
   */
  hurry(): void {
    this.#sync = syncAtOnce
    this.#logBytesMax = Number.POSITIVE_INFINITY
    this.#steps = null
  }

  /**
   * In slices; goes on where it was left, and begins anew after a failure of SQLite. After one of the disk nothing
   * helps but to open the file anew: {@link close} keeps the log, so that all of it is copied once more.
   * @throws what SQLite throws, and OperatingError for the disk
   */
  *run(): Generator<CopyStep> {
    this.#isUnfinished = true
    if (this.#failure !== null) throw this.#failure
    for (let step = this.#step(); step !== null; step = this.#step()) yield step
    this.#isUnfinished = false
  }

  #step(): CopyStep | null {
    this.#steps ??= this.#begin()
    try {
      const step = this.#steps.next()
      if (!step.done) return step.value
      this.#steps = null
      return null
    } catch (cause) {
      this.#steps = null
      throw cause
    }
  }

  /** Closes the database as well. Waits for the disk. */
  close(): void {
    const descriptors = [this.#log, this.#file].filter((descriptor) => descriptor !== null)
    if (this.#failure === null)
      for (const descriptor of descriptors) syncAtOnce(descriptor, (error) => this.#heard(error))
    const [log, kept] = [`${this.#path}-wal`, `${this.#path}-wal-kept`]
    const [isFileOurs, isLogOurs] = this.#inodes.map(
      ([path, inode]) => statPresent(path)?.ino === inode,
    )
    // SQLite removes the log, though the file may lack what is in it.
    const isNeeded = this.#failure !== null && isFileOurs === true && isLogOurs === true
    const isKept = isNeeded && isDone(() => copyFileSync(log, kept))
    // What is still in the log SQLite copies when it closes, and then it must wait.
    if (!isKept) this.#db.pragma('synchronous = FULL')
    this.#db.close()
    if (isKept) isDone(() => renameSync(kept, log))
    // SQLite leaves it where another file is in the place of its own, which it would damage.
    if (isFileOurs === false && isLogOurs === true) isDone(() => rmSync(log, { force: true }))
    for (const descriptor of descriptors) closeSync(descriptor)
  }

  /** Everything in it may be done twice. */
  *#begin(): Generator<CopyStep> {
    const gonePath = this.#gonePath()
    if (gonePath !== undefined)
      throw new OperatingError('file_gone', `${gonePath} was removed or replaced`)
    this.#file ??= opened(this.#path)
    this.#log ??= opened(`${this.#path}-wal`)
    yield* this.#synced(this.#log)
    this.#db.pragma('wal_checkpoint(PASSIVE)')
    yield 'copied'
    yield* this.#synced(this.#file)
    this.#db.pragma('wal_checkpoint(TRUNCATE)')
    yield 'copied'
    yield* this.#synced(this.#log)
  }

  /** What is written to a file that is not there any more lasts as long as it is open, and no longer. */
  #gonePath(): string | undefined {
    return this.#inodes.find(([path, inode]) => statPresent(path)?.ino !== inode)?.[0]
  }

  *#synced(descriptor: number): Generator<CopyStep> {
    let isWaiting = true
    this.#sync(descriptor, (error) => {
      isWaiting = false
      this.#heard(error)
    })
    const isStillWaiting = () => isWaiting
    while (isStillWaiting()) yield 'waiting'
    if (this.#failure !== null) throw this.#failure
  }

  #heard(cause: Error | null): void {
    if (cause === null) return
    const message = `${this.#path} does not reach the disk`
    this.#failure ??= new OperatingError('file_not_synced', message, { cause })
  }
}

/** @returns false where the disk does not allow it. */
function isDone(task: () => void): boolean {
  try {
    task()
    return true
  } catch {
    return false
  }
}

/** Whether only opening a file anew helps: it is not there any more, or has not kept what was written to it. */
export function isToBeReopened(cause: unknown): cause is OperatingError {
  return cause instanceof OperatingError && /^file_(gone|not_synced)$/.test(cause.code)
}

function opened(path: string): number {
  try {
    return openSync(path, 'r+')
  } catch (cause) {
    throw new OperatingError('file_gone', `${path} cannot be opened`, { cause })
  }
}
