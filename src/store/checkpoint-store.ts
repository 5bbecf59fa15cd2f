import type { Checkpoint } from '../domain/checkpoint.ts'
import { CheckpointDb } from './checkpoint-db.ts'
import { isDamage, setSqliteFileAside } from './sqlite-file.ts'
import type { WalCheckpointer } from './wal-checkpoint.ts'
import { isFileGone } from './wal-checkpoint.ts'

export type CheckpointStoreOptions = {
  readonly path: string
  /** Receives the new path of a damaged file, and the reason. */
  readonly onSetAside: (path: string, reason: string) => void
  readonly checkpointer?: WalCheckpointer | undefined
}

/** The checkpoint of a running engine. A file that is damaged or gone is replaced, and written completely. */
export class CheckpointStore {
  readonly #options: CheckpointStoreOptions
  /** null while the file cannot be used. */
  #db: CheckpointDb | null

  /** @throws OperatingError when a file that may be whole cannot be used: busy, full, forbidden. */
  constructor(options: CheckpointStoreOptions, nowMs: number) {
    this.#options = options
    this.#db = this.#opened(nowMs, false)
  }

  /** null before the first save. */
  load(): Checkpoint | null {
    return this.#db?.load() ?? null
  }

  /**
   * Writes in slices, and once more from the start if a new file was needed.
   * @throws what SQLite throws, and OperatingError for the disk
   */
  *write(task: (db: CheckpointDb) => Generator<unknown>, nowMs: () => number): Generator<unknown> {
    this.#db ??= this.#opened(nowMs(), true)
    try {
      yield* task(this.#db)
    } catch (cause) {
      if (!isLost(cause)) throw cause
      this.#db.close()
      yield* task(this.#beginAnew(cause, nowMs()))
    }
  }

  /** Saves a last checkpoint, and waits for the disk. */
  close(last: Checkpoint, nowMs: number): void {
    this.#db ??= this.#opened(nowMs, true)
    try {
      this.#db.close(last)
    } catch (cause) {
      if (!isLost(cause)) throw cause
      this.#beginAnew(cause, nowMs).close(last)
    }
  }

  #beginAnew(cause: Error, nowMs: number): CheckpointDb {
    this.#db = null
    const { path, onSetAside } = this.#options
    if (isDamage(cause)) onSetAside(setSqliteFileAside(path, nowMs), cause.message)
    this.#db = this.#opened(nowMs, true)
    return this.#db
  }

  #opened(nowMs: number, isAtWork: boolean): CheckpointDb {
    const { path, checkpointer, onSetAside } = this.#options
    const { db, setAside, reason } = CheckpointDb.open(path, nowMs, checkpointer, isAtWork)
    if (setAside !== null && reason !== null) onSetAside(setAside, reason)
    return db
  }
}

function isLost(cause: unknown): cause is Error {
  return isDamage(cause) || isFileGone(cause)
}
