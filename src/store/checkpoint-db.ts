import { crc32 } from 'node:zlib'
import type Database from 'better-sqlite3'
import type { Checkpoint } from '../domain/checkpoint.ts'
import { WHOLE_MARKET } from '../domain/document.ts'
import type { Listing } from '../domain/listing.ts'
import { singleMarginTier, UNKNOWN_TOKEN } from '../domain/listing.ts'
import type { FileInspection, OpenedFile } from './sqlite-file.ts'
import { checkTable, inspectSqliteFile, openSqliteFile } from './sqlite-file.ts'
import type { FileSync } from './wal-copy.ts'
import { syncAtOnce, WalCopy } from './wal-copy.ts'

const SCHEMA = `
  CREATE TABLE engine (id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT NULL, listings TEXT NOT NULL, crc INTEGER NOT NULL);
  CREATE TABLE coin (name TEXT PRIMARY KEY, state BLOB NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID;
`

const migrations = [(db: Database.Database) => void db.exec(SCHEMA)]

/** Rows that are built and written between two turns of the event loop: about a millisecond of work. */
export const ROWS_PER_SLICE = 4

export type CheckpointRow = readonly [name: string, state: Float64Array]

/**
 * The engine's memory on disk. One file, one engine: the lock is exclusive, so that two of them do not
 * overwrite each other. A lost row costs one coin's warm-up, never a wrong number.
 */
export class CheckpointDb {
  readonly #db: Database.Database
  readonly #copy: WalCopy

  private constructor(db: Database.Database, path: string, sync: FileSync) {
    this.#db = db
    this.#copy = new WalCopy(db, path, sync)
  }

  /**
   * @param isAtWork whoever opens it has other things to do, waits for nobody and leaves the check of all pages
   * to the next start
   * @throws OperatingError when a file that may be whole cannot be used: busy, full, forbidden.
   */
  static open(
    path: string,
    nowMs: number,
    sync = syncAtOnce,
    isAtWork = false,
  ): OpenedFile<CheckpointDb> {
    const use = (db: Database.Database, place: string) => new CheckpointDb(db, place, sync)
    const kind = {
      name: 'checkpoint',
      migrations,
      isCheckedWhole: !isAtWork,
      lockWaitMsMax: isAtWork ? 0 : undefined,
      use,
    }
    return openSqliteFile(path, kind, nowMs)
  }

  /** For whoever only looks: the coins that a restart would know. */
  static inspect(path: string): FileInspection<{ readonly coins: number }> {
    return inspectSqliteFile(path, migrations, (db) => {
      checkTable(db, 'coin')
      const names = new CheckpointDb(db, path, syncAtOnce).load()?.coins.keys() ?? []
      return { coins: [...names].filter((name) => name !== WHOLE_MARKET).length }
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
    return { version: engine.version, listings: listingsFrom(engine.listings), coins }
  }

  /** Begins a checkpoint, the rows of which follow with {@link put}. In slices. */
  *begin({ version, listings }: Pick<Checkpoint, 'version' | 'listings'>): Generator<unknown> {
    if (this.#copy.isDue) yield* this.#copy.run()
    const text = JSON.stringify(listings)
    this.#db
      .prepare('INSERT OR REPLACE INTO engine (id, version, listings, crc) VALUES (1, ?, ?, ?)')
      .run(version, text, crc32(text))
  }

  /** All of them or none, in one slice; in more, what was written into the file where that has become much. */
  *put(rows: readonly CheckpointRow[]): Generator<unknown> {
    const putCoin = this.#db.prepare<[string, Buffer, number]>(
      'INSERT INTO coin (name, state, crc) VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET state = excluded.state, crc = excluded.crc',
    )
    this.#db
      .transaction(() => {
        for (const [name, state] of rows) {
          const bytes = Buffer.from(state.buffer, state.byteOffset, state.byteLength)
          putCoin.run(name, bytes, crc32(bytes))
        }
      })
      .immediate()
    yield
    if (this.#copy.isDue) yield* this.#copy.run()
  }

  /** Forgets the rows of all other names, in slices. */
  *retain(names: ReadonlySet<string>): Generator<unknown> {
    const saved = this.#db.prepare<[], string>('SELECT name FROM coin').pluck().all()
    const gone = saved.filter((name) => !names.has(name))
    const remove = this.#db.prepare<[string]>('DELETE FROM coin WHERE name = ?')
    for (const name of gone) {
      remove.run(name)
      yield
      if (this.#copy.isDue) yield* this.#copy.run()
    }
  }

  /** A whole checkpoint, in slices: whatever was written when one of them ends is whole. */
  *save(checkpoint: Checkpoint): Generator<unknown> {
    yield* this.begin(checkpoint)
    const rows = [...checkpoint.coins]
    for (let at = 0; at < rows.length; at += ROWS_PER_SLICE)
      yield* this.put(rows.slice(at, at + ROWS_PER_SLICE))
  }

  /** Saves a last checkpoint, and waits for the disk. */
  close(last: Checkpoint | null = null): void {
    this.#copy.hurry()
    try {
      if (last !== null) for (const _ of this.save(last));
    } finally {
      this.#copy.close()
    }
  }
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
