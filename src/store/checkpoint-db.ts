import { crc32 } from 'node:zlib'
import type Database from 'better-sqlite3'
import type { Checkpoint } from '../domain/checkpoint.ts'
import { WHOLE_MARKET } from '../domain/document.ts'
import type { Listing } from '../domain/listing.ts'
import { singleMarginTier, UNKNOWN_TOKEN } from '../domain/listing.ts'
import type { FileInspection, OpenedFile } from './sqlite-file.ts'
import { checkTable, inspectSqliteFile, openSqliteFile } from './sqlite-file.ts'
import type { WalCheckpointer } from './wal-checkpoint.ts'
import { WalLog } from './wal-checkpoint.ts'

const SCHEMA = `
  CREATE TABLE engine (id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT NULL, listings TEXT NOT NULL, crc INTEGER NOT NULL);
  CREATE TABLE coin (name TEXT PRIMARY KEY, state BLOB NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID;
`

export const checkpointMigrations = [(db: Database.Database) => void db.exec(SCHEMA)]

/** Rows built and written in one turn of the event loop, about 1 ms of work. */
export const ROWS_PER_SLICE = 4

export type CheckpointRow = readonly [name: string, state: Float64Array]

/** The engine's memory on disk. A lost row costs one coin's warm-up, never a wrong number. */
export class CheckpointDb {
  readonly #db: Database.Database
  readonly #log: WalLog

  private constructor(db: Database.Database, log: WalLog) {
    this.#db = db
    this.#log = log
  }

  /**
   * @param isAtWork an engine at work leaves the check of all pages to the next start
   * @throws OperatingError when a file that may be whole cannot be used: busy, full, forbidden.
   */
  static open(
    path: string,
    nowMs: number,
    checkpointer?: WalCheckpointer,
    isAtWork = false,
  ): OpenedFile<CheckpointDb> {
    const use = (db: Database.Database, place: string) =>
      new CheckpointDb(db, new WalLog(db, place, checkpointer))
    const kind = {
      name: 'checkpoint',
      migrations: checkpointMigrations,
      isCheckedWhole: !isAtWork,
      use,
    }
    return openSqliteFile(path, kind, nowMs)
  }

  /** Counts the coins of a checkpoint without changing the file. */
  static inspect(path: string): FileInspection<{ readonly coins: number }> {
    return inspectSqliteFile(path, checkpointMigrations, (db) => {
      checkTable(db, 'coin')
      const names = loadCheckpoint(db)?.coins.keys() ?? []
      return { coins: [...names].filter((name) => name !== WHOLE_MARKET).length }
    })
  }

  /** null before the first save. */
  load(): Checkpoint | null {
    return loadCheckpoint(this.#db)
  }

  /** Begins a checkpoint, the rows of which follow with {@link put}. */
  begin({ version, listings }: Pick<Checkpoint, 'version' | 'listings'>): void {
    const text = JSON.stringify(listings)
    this.#log.write(() =>
      this.#db
        .prepare('INSERT OR REPLACE INTO engine (id, version, listings, crc) VALUES (1, ?, ?, ?)')
        .run(version, text, crc32(text)),
    )
  }

  /** All of them or none. */
  put(rows: readonly CheckpointRow[]): void {
    const putCoin = this.#db.prepare<[string, Buffer, number]>(
      'INSERT INTO coin (name, state, crc) VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET state = excluded.state, crc = excluded.crc',
    )
    this.#log.write(() => {
      for (const [name, state] of rows) {
        const bytes = Buffer.from(state.buffer, state.byteOffset, state.byteLength)
        putCoin.run(name, bytes, crc32(bytes))
      }
    })
  }

  /** Removes the rows of all other names. */
  retain(names: ReadonlySet<string>): void {
    const saved = this.#db.prepare<[], string>('SELECT name FROM coin').pluck().all()
    const gone = saved.filter((name) => !names.has(name))
    if (gone.length === 0) return
    const remove = this.#db.prepare<[string]>('DELETE FROM coin WHERE name = ?')
    this.#log.write(() => {
      for (const name of gone) remove.run(name)
    })
  }

  /** A whole checkpoint, in slices. */
  *save(checkpoint: Checkpoint): Generator<unknown> {
    this.begin(checkpoint)
    const rows = [...checkpoint.coins]
    for (let at = 0; at < rows.length; at += ROWS_PER_SLICE) {
      yield
      this.put(rows.slice(at, at + ROWS_PER_SLICE))
    }
  }

  /** Saves a last checkpoint, and waits for the disk. */
  close(last: Checkpoint | null = null): void {
    try {
      if (last !== null) for (const _ of this.save(last));
    } finally {
      this.#log.close()
    }
  }
}

/** A row with a wrong checksum counts as never written. */
function loadCheckpoint(db: Database.Database): Checkpoint | null {
  const engine = db
    .prepare<[], { version: number; listings: string; crc: number }>(
      'SELECT version, listings, crc FROM engine',
    )
    .get()
  if (engine === undefined || crc32(engine.listings) !== engine.crc) return null
  const coins = new Map<string, Float64Array>()
  const rows = db
    .prepare<[], { name: string; state: Buffer; crc: number }>('SELECT name, state, crc FROM coin')
    .all()
  for (const { name, state, crc } of rows) {
    if (crc32(state) === crc) coins.set(name, new Float64Array(new Uint8Array(state).buffer))
  }
  return { version: engine.version, listings: listingsFrom(engine.listings), coins }
}

/** An earlier version saved neither margin tiers nor collateral; the venue's list brings them within seconds. */
function listingsFrom(text: string): readonly Listing[] {
  const saved = JSON.parse(text) as (Omit<Listing, 'marginTiers'> & Partial<Listing>)[]
  return saved.map((listing) => ({
    ...listing,
    marginTiers: listing.marginTiers ?? singleMarginTier(listing.maxLeverage),
    ...(listing.coin.includes(':') && {
      collateralToken: listing.collateralToken ?? UNKNOWN_TOKEN,
    }),
  }))
}
