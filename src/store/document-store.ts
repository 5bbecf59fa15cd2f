import { rmSync } from 'node:fs'
import { deserialize, serialize } from 'node:v8'
import { crc32 } from 'node:zlib'
import type Database from 'better-sqlite3'
import type { Document, DocumentKey } from '../domain/document.ts'
import { sharedBytes, subjectOf, WHOLE_MARKET } from '../domain/document.ts'
import type { FileInspection, OpenedFile } from './sqlite-file.ts'
import { checkTable, inspectSqliteFile, openSqliteFile, placeOf } from './sqlite-file.ts'
import type { WalCheckpointer } from './wal-checkpoint.ts'
import { WalLog } from './wal-checkpoint.ts'

const SCHEMA = `
  CREATE TABLE document (key TEXT PRIMARY KEY, maker TEXT NOT NULL, rendered_ms INTEGER NOT NULL, content BLOB NOT NULL, crc INTEGER NOT NULL);
`
const migrations = [(db: Database.Database) => void db.exec(SCHEMA)]

/** Raised with every change of `domain/document.ts` that a gateway would misread. */
const FORMAT = 2
/** Written between two turns of the event loop. */
const PER_SLICE = 4
/** Clocks are corrected by less than this all the time. */
const AHEAD_MS_MAX = 5_000

export type DocumentStoreOptions = {
  readonly path: string
  /** Of the code that makes them: what another one made may mean something else. */
  readonly maker: string
  /** Our clock was moved: what the documents say of their age would be wrong. */
  readonly isClockNew: boolean
  /** Opened by an engine at work, which leaves the check of all pages to the next one. */
  readonly isAtWork?: boolean
  readonly checkpointer?: WalCheckpointer | undefined
}

/**
 * What engines published last, of every key: theirs to answer with until there is newer. A file of its own,
 * because losing it costs nothing but seconds.
 */
export class DocumentStore {
  readonly #db: Database.Database
  readonly #log: WalLog
  readonly #maker: string
  readonly #unsaved = new Map<DocumentKey, Document>()

  private constructor(
    db: Database.Database,
    place: string,
    { maker, checkpointer }: DocumentStoreOptions,
  ) {
    this.#db = db
    this.#log = new WalLog(db, place, checkpointer)
    this.#maker = `${maker}/${FORMAT}`
  }

  /** @throws OperatingError when the file cannot be used: busy, full, forbidden */
  static open(options: DocumentStoreOptions, nowMs: number): OpenedFile<DocumentStore> {
    const use = (db: Database.Database, place: string) => new DocumentStore(db, place, options)
    const { isAtWork = false } = options
    const kind = { name: 'documents', migrations, isCheckedWhole: !isAtWork, use }
    if (options.isClockNew) removeFiles(options.path)
    const opened = openSqliteFile(options.path, kind, nowMs)
    // Made after now: the clock was put back since, nobody knows how far.
    if (opened.db.#newestMs() <= nowMs + AHEAD_MS_MAX) return opened
    opened.db.close()
    removeFiles(options.path)
    return openSqliteFile(options.path, kind, nowMs)
  }

  /** For whoever only looks: how many there are, and how many of them are not what was written. */
  static inspect(
    path: string,
  ): FileInspection<{ readonly documents: number; readonly damaged: number }> {
    return inspectSqliteFile(path, migrations, (db) => {
      checkTable(db, 'document')
      const rows = db
        .prepare<[], { content: Buffer; crc: number }>('SELECT content, crc FROM document')
        .all()
      const damaged = rows.filter(({ content, crc }) => crc32(content) !== crc)
      return { documents: rows.length, damaged: damaged.length }
    })
  }

  /** Those of the same maker. Nothing else may be asked of the store before the last of them was read. */
  *load(): Generator<Document> {
    const rows = this.#db
      .prepare<[string], { content: Buffer; crc: number }>(
        'SELECT content, crc FROM document WHERE maker = ?',
      )
      .iterate(this.#maker)
    for (const { content, crc } of rows) if (crc32(content) === crc) yield* documentFrom(content)
  }

  /** What waits for the next {@link save}. */
  get unsaved(): readonly Document[] {
    return [...this.#unsaved.values()]
  }

  /** To be saved with the next {@link save}. */
  add(documents: readonly Document[]): void {
    for (const document of documents) this.#unsaved.set(document.key, document)
  }

  /**
   * In slices. After one that failed, the next call begins with what that one left.
   * @throws what SQLite throws, and OperatingError for the disk
   */
  *save(): Generator<unknown> {
    // By key: the newest of each is saved, and those that were replaced meanwhile are let go of.
    const keys = [...this.#unsaved.keys()]
    for (let at = 0; at < keys.length; at += PER_SLICE) {
      const slice = keys.slice(at, at + PER_SLICE).flatMap((key) => this.#unsaved.get(key) ?? [])
      this.#put(slice)
      for (const { key } of slice) this.#unsaved.delete(key)
      yield
    }
  }

  /** Removes those of all other coins; to be called after a whole {@link save}. */
  retain(coins: ReadonlySet<string>): void {
    const keys = this.#db.prepare<[], DocumentKey>('SELECT key FROM document').pluck().all()
    const isGone = (subject: string) => subject !== WHOLE_MARKET && !coins.has(subject)
    const gone = keys.filter((key) => isGone(subjectOf(key)))
    if (gone.length === 0) return
    const remove = this.#db.prepare<[DocumentKey]>('DELETE FROM document WHERE key = ?')
    this.#write(() => {
      for (const key of gone) remove.run(key)
    })
  }

  /** Saves what is left, and waits for the disk. */
  close(): void {
    try {
      for (const _ of this.save());
    } finally {
      this.#log.close()
    }
  }

  /** All of them or none. */
  #put(documents: readonly Document[]): void {
    const put = this.#db.prepare<[string, string, number, Buffer, number]>(
      'INSERT OR REPLACE INTO document (key, maker, rendered_ms, content, crc) VALUES (?, ?, ?, ?, ?)',
    )
    this.#write(() => {
      for (const document of documents) {
        const content = serialize({ ...document, bytes: document.bytes.slice() })
        put.run(document.key, this.#maker, document.renderedAtMs, content, crc32(content))
      }
    })
  }

  #write(task: () => void): void {
    this.#log.check()
    this.#db.transaction(task).immediate()
    this.#log.written()
  }

  #newestMs(): number {
    const newest = this.#db
      .prepare<[], { ms: number | null }>('SELECT max(rendered_ms) AS ms FROM document')
      .get()
    return newest?.ms ?? Number.NEGATIVE_INFINITY
  }
}

/** A link to them stays. */
function removeFiles(path: string): void {
  const place = placeOf(path)
  for (const end of ['', '-wal', '-shm']) rmSync(`${place}${end}`, { force: true })
}

/** @returns nothing for what another release of Node wrote in a way that ours cannot read */
function documentFrom(content: Buffer): readonly Document[] {
  try {
    const document = deserialize(content) as Document
    const bytes = sharedBytes(document.bytes.length)
    bytes.set(document.bytes)
    return [{ ...document, bytes }]
  } catch {
    return []
  }
}
