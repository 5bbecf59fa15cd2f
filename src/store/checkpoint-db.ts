import { crc32 } from 'node:zlib'
import type Database from 'better-sqlite3'
import type { Checkpoint } from '../domain/checkpoint.ts'
import type { Listing } from '../domain/listing.ts'
import type { FileInspection, OpenedFile } from './sqlite-file.ts'
import { checkTable, inspectSqliteFile, openSqliteFile } from './sqlite-file.ts'

const SCHEMA = `
  CREATE TABLE engine (id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT NULL, listings TEXT NOT NULL, crc INTEGER NOT NULL);
  CREATE TABLE coin (name TEXT PRIMARY KEY, state BLOB NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID;
`

const migrations = [(db: Database.Database) => void db.exec(SCHEMA)]

/** Rows written between two turns of the event loop: about a millisecond of work. */
const ROWS_PER_SLICE = 64

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
  static open(path: string, nowMs: number): OpenedFile<CheckpointDb> {
    const use = (db: Database.Database) => new CheckpointDb(db)
    const kind = { name: 'checkpoint', migrations, isCheckedWhole: true, use }
    return openSqliteFile(path, kind, nowMs)
  }

  /** For whoever only looks: the coins that a restart would know. */
  static inspect(path: string): FileInspection<{ readonly coins: number }> {
    return inspectSqliteFile(path, migrations, (db) => {
      checkTable(db, 'coin')
      return { coins: new CheckpointDb(db).load()?.coins.size ?? 0 }
    })
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
