import { mkdirSync, renameSync } from 'node:fs'
import { dirname } from 'node:path'
import { crc32 } from 'node:zlib'
import Database from 'better-sqlite3'
import type { Checkpoint } from '../domain/checkpoint.ts'
import { OperatingError } from '../domain/errors.ts'
import type { Listing } from '../domain/listing.ts'

/** Raised with every change of what the rows mean: an older file is set aside, not misread. */
const SCHEMA_VERSION = 1

/** One transaction: a process that is killed between two statements leaves none of them. */
const SCHEMA = `
  BEGIN;
  CREATE TABLE engine (id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT NULL, listings TEXT NOT NULL, crc INTEGER NOT NULL);
  CREATE TABLE coin (name TEXT PRIMARY KEY, state BLOB NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID;
  PRAGMA user_version = ${SCHEMA_VERSION};
  COMMIT;
`

/** A predecessor that is just exiting may still hold the lock. */
const LOCK_WAIT_MS_MAX = 500

/** Rows written between two turns of the event loop: about a millisecond of work. */
const ROWS_PER_SLICE = 64

export type OpenedCheckpoint = {
  readonly db: CheckpointDb
  /** Where a damaged file, or one of another schema, was moved; null where there was none. */
  readonly setAside: string | null
  /** Why it was moved. */
  readonly reason: string | null
}

/**
 * The engine's memory on disk. One file, one engine: the lock is exclusive, so that two of them do not
 * overwrite each other. A lost row costs one coin's warm-up, never a wrong number.
 */
export class CheckpointDb {
  readonly #db: Database.Database

  private constructor(db: Database.Database) {
    this.#db = db
  }

  /** @throws OperatingError when a file that may be whole cannot be used: busy, full, forbidden. */
  static open(path: string, nowMs: number): OpenedCheckpoint {
    mkdirSync(dirname(path), { recursive: true })
    const existing = openChecked(path)
    if (typeof existing !== 'string')
      return { db: new CheckpointDb(existing), setAside: null, reason: null }
    const setAside = `${path}.corrupt-${nowMs}`
    for (const suffix of ['', '-wal', '-shm']) {
      try {
        renameSync(path + suffix, setAside + suffix)
      } catch (cause) {
        if (!isMissing(cause)) throw cause
      }
    }
    const fresh = openChecked(path)
    if (typeof fresh === 'string')
      throw new OperatingError('checkpoint_unusable', `a new ${path} is unusable: ${fresh}`)
    return { db: new CheckpointDb(fresh), setAside, reason: existing }
  }

  /** null before the first save. What has a wrong checksum counts as never written. */
  load(): Checkpoint | null {
    const engine = this.#db
      .prepare<[], { version: number; listings: string; crc: number }>(
        'SELECT version, listings, crc FROM engine',
      )
      .get()
    if (engine === undefined || crc32(engine.listings) !== engine.crc) return null
    const coins = new Map<string, Float64Array>()
    const rows = this.#db
      .prepare<[], { name: string; state: Buffer; crc: number }>(
        'SELECT name, state, crc FROM coin',
      )
      .all()
    for (const { name, state, crc } of rows) {
      if (crc32(state) === crc) coins.set(name, new Float64Array(new Uint8Array(state).buffer))
    }
    return { version: engine.version, listings: JSON.parse(engine.listings) as Listing[], coins }
  }

  /**
   * Writes a checkpoint in slices. The caller decides what happens between two of them; each is one
   * transaction, so whatever was written is whole.
   */
  *save(checkpoint: Checkpoint): Generator<void> {
    const putCoin = this.#db.prepare<[string, Buffer, number]>(
      'INSERT INTO coin (name, state, crc) VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET state = excluded.state, crc = excluded.crc',
    )
    const putCoins = this.#db.transaction((rows: readonly (readonly [string, Float64Array])[]) => {
      for (const [name, state] of rows) {
        const bytes = Buffer.from(state.buffer, state.byteOffset, state.byteLength)
        putCoin.run(name, bytes, crc32(bytes))
      }
    })
    const listings = JSON.stringify(checkpoint.listings)
    this.#db
      .prepare('INSERT OR REPLACE INTO engine (id, version, listings, crc) VALUES (1, ?, ?, ?)')
      .run(checkpoint.version, listings, crc32(listings))
    const rows = [...checkpoint.coins]
    for (let at = 0; at < rows.length; at += ROWS_PER_SLICE) {
      putCoins(rows.slice(at, at + ROWS_PER_SLICE))
      yield
    }
  }

  close(): void {
    this.#db.close()
  }
}

/** @returns the open file, or why what it holds is of no use to anybody. */
function openChecked(path: string): Database.Database | string {
  let db: Database.Database | undefined
  try {
    db = new Database(path, { timeout: LOCK_WAIT_MS_MAX })
    db.pragma('locking_mode = EXCLUSIVE')
    db.pragma('journal_mode = WAL')
    // A killed process loses nothing under NORMAL; a power cut loses seconds of warm-up, not the file.
    db.pragma('synchronous = NORMAL')
    const version = db.pragma('user_version', { simple: true })
    if (version === 0) db.exec(SCHEMA)
    const verdict = db.pragma('quick_check', { simple: true })
    const isOurs = version === 0 || version === SCHEMA_VERSION
    if (isOurs && verdict === 'ok') return db
    db.close()
    return isOurs ? `quick_check: ${String(verdict)}` : `schema version ${String(version)}`
  } catch (cause) {
    db?.close()
    if (isDamage(cause)) return cause.message
    throw new OperatingError('checkpoint_unusable', `the checkpoint ${path} cannot be used`, {
      cause,
    })
  }
}

function isDamage(cause: unknown): cause is Error {
  return cause instanceof Database.SqliteError && /^SQLITE_(CORRUPT|NOTADB)/.test(cause.code)
}

function isMissing(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === 'ENOENT'
}
