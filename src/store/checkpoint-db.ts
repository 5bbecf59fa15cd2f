import { mkdirSync, renameSync } from 'node:fs'
import { dirname } from 'node:path'
import { crc32 } from 'node:zlib'
import Database from 'better-sqlite3'
import type { Checkpoint } from '../domain/checkpoint.ts'
import type { Listing } from '../domain/listing.ts'

/** Raised with every change of what the rows mean: an older file is set aside, not misread. */
const SCHEMA_VERSION = 1

const SCHEMA = `
  CREATE TABLE engine (id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT NULL, listings TEXT NOT NULL);
  CREATE TABLE coin (name TEXT PRIMARY KEY, state BLOB NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID;
  PRAGMA user_version = ${SCHEMA_VERSION};
`

/** Rows written between two turns of the event loop: about a millisecond of work. */
const ROWS_PER_SLICE = 64

export type OpenedCheckpoint = {
  readonly db: CheckpointDb
  /** Where an unreadable or outdated file was moved, or null. */
  readonly setAside: string | null
}

/** The engine's memory on disk. One writer. A lost row costs one coin's warm-up, never a wrong number. */
export class CheckpointDb {
  readonly #db: Database.Database

  private constructor(db: Database.Database) {
    this.#db = db
  }

  /** @throws when the file can be neither opened nor set aside. */
  static open(path: string, nowMs: number): OpenedCheckpoint {
    mkdirSync(dirname(path), { recursive: true })
    const existing = openChecked(path)
    if (existing !== null) return { db: new CheckpointDb(existing), setAside: null }
    const setAside = `${path}.corrupt-${nowMs}`
    for (const suffix of ['', '-wal', '-shm']) {
      try {
        renameSync(path + suffix, setAside + suffix)
      } catch (cause) {
        if (!isMissing(cause)) throw cause
      }
    }
    const fresh = openChecked(path)
    if (fresh === null) throw new Error(`cannot create ${path}`)
    return { db: new CheckpointDb(fresh), setAside }
  }

  /** null before the first save. Rows whose checksum does not hold are left out. */
  load(): Checkpoint | null {
    const engine = this.#db
      .prepare<[], { version: number; listings: string }>('SELECT version, listings FROM engine')
      .get()
    if (engine === undefined) return null
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
    this.#db
      .prepare(
        'INSERT INTO engine (id, version, listings) VALUES (1, ?, ?) ON CONFLICT (id) DO UPDATE SET version = excluded.version, listings = excluded.listings',
      )
      .run(checkpoint.version, JSON.stringify(checkpoint.listings))
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

/** null when the file is damaged or of another schema. */
function openChecked(path: string): Database.Database | null {
  let db: Database.Database | undefined
  try {
    db = new Database(path)
    db.pragma('journal_mode = WAL')
    // A killed process loses nothing under NORMAL; a power cut loses seconds of warm-up, not the file.
    db.pragma('synchronous = NORMAL')
    const version = db.pragma('user_version', { simple: true })
    if (version === 0) db.exec(SCHEMA)
    else if (version !== SCHEMA_VERSION) throw new Error(`schema version ${String(version)}`)
    if (db.pragma('quick_check', { simple: true }) !== 'ok') throw new Error('quick_check failed')
    return db
  } catch {
    db?.close()
    return null
  }
}

function isMissing(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === 'ENOENT'
}
