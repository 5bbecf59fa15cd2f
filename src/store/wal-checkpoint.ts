import { rmSync } from 'node:fs'
import type Database from 'better-sqlite3'
import { OperatingError } from '../domain/errors.ts'
import { statPresent } from './present-file.ts'

/** Runs a WAL checkpoint of the database at a path on another thread, and calls back when it is done. */
export type WalCheckpointer = (path: string, done: (error: Error | null) => void) => void

/** The first commit after a checkpoint waits for the disk, 4 ms, so checkpoints are rarer than SQLite's default (4 MB). */
const LOG_BYTES_MAX = 16 * 1024 * 1024

/**
 * The write-ahead log of an open database. SQLite moves the log into the file while it holds the calling thread:
 * 6 ms for half a megabyte and 18 ms for four (p50 of an SSD, with `synchronous = NORMAL`), and the engine may be held
 * for 5 ms. So another thread runs the checkpoint over its own connection while the engine goes on writing. Without
 * that thread SQLite's automatic checkpoint is used.
 */
export class WalLog {
  readonly #db: Database.Database
  readonly #path: string
  readonly #checkpointer: WalCheckpointer | undefined
  /** Identify the files that SQLite has open. */
  readonly #inodes: readonly (readonly [path: string, inode: number | undefined])[]
  #isRunning = false
  #isLongAgain = false
  #failure: Error | null = null

  constructor(db: Database.Database, path: string, checkpointer: WalCheckpointer | undefined) {
    this.#db = db
    this.#path = path
    this.#checkpointer = checkpointer
    if (checkpointer !== undefined) db.pragma('wal_autocheckpoint = 0')
    // Truncates a log that begins again, so that its size on disk is its length.
    db.pragma('journal_size_limit = 0')
    this.#inodes = [path, `${path}-wal`].map((part) => [part, statPresent(part)?.ino] as const)
  }

  /**
   * Runs one transaction. SQLite itself would continue to write to a removed file, and to a log whose checkpoints fail.
   * @throws OperatingError before the transaction, and what SQLite throws
   */
  write(task: () => void): void {
    this.#check()
    this.#db.transaction(task).immediate()
    this.#shorten()
  }

  /** Closes the database. SQLite moves what is in the log into the file, and waits for the disk. */
  close(): void {
    const [file, log] = this.#inodes.map(([path, inode]) => statPresent(path)?.ino === inode)
    this.#db.close()
    // SQLite keeps the log of a file that was replaced, and would replay it into the new file.
    if (file === false && log === true) rmSync(`${this.#path}-wal`, { force: true })
  }

  #check(): void {
    const gone = this.#inodes.find(([path, inode]) => statPresent(path)?.ino !== inode)
    if (gone !== undefined)
      throw new OperatingError('file_gone', `${gone[0]} was removed or replaced`)
    const cause = this.#failure
    if (cause === null) return
    if (!this.#isRunning) this.#run()
    throw new OperatingError(
      'wal_checkpoint_failed',
      `the WAL checkpoint of ${this.#path} failed`,
      {
        cause,
      },
    )
  }

  #shorten(): void {
    if (this.#checkpointer === undefined) return
    if ((statPresent(`${this.#path}-wal`)?.size ?? 0) < LOG_BYTES_MAX) return
    if (this.#isRunning) this.#isLongAgain = true
    else this.#run()
  }

  #run(): void {
    this.#isRunning = true
    this.#isLongAgain = false
    this.#checkpointer?.(this.#path, (error) => {
      this.#isRunning = false
      this.#failure = error
      if (error === null && this.#isLongAgain) this.#run()
    })
  }
}

/** Whether a file was removed or replaced, so that it must be opened again. */
export function isFileGone(cause: unknown): cause is OperatingError {
  return cause instanceof OperatingError && cause.code === 'file_gone'
}
