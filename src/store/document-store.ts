import { rmSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import type Database from 'better-sqlite3'
import type { DocumentKey, Part } from '../domain/document.ts'
import { subjectOf, WHOLE_MARKET } from '../domain/document.ts'
import { PackedDocument } from '../domain/packed-document.ts'
import { factsFrom } from '../domain/packed-facts.ts'
import type { PlacedDocument } from '../domain/placed-document.ts'
import type { FileInspection, OpenedFile } from './sqlite-file.ts'
import {
  checkTable,
  inspectSqliteFile,
  openSqliteFile,
  placeOf,
  releaseBlob,
} from './sqlite-file.ts'
import type { WalCheckpointer } from './wal-checkpoint.ts'
import { WalLog } from './wal-checkpoint.ts'

const SCHEMA = `
  CREATE TABLE document (key TEXT PRIMARY KEY, maker TEXT NOT NULL, rendered_ms INTEGER NOT NULL, content BLOB NOT NULL, crc INTEGER NOT NULL);
`
export const documentMigrations = [(db: Database.Database) => void db.exec(SCHEMA)]

/** Increased with every incompatible change of the content, `domain/document.ts` and `domain/packed-facts.ts`. */
const FORMAT = 6
/** The largest document, `screener`, has 199 kB with 230 coins. */
const CONTENT_BYTES_MAX = 4 * 1024 * 1024
/** Documents written in one turn of the event loop. */
const PER_SLICE = 4
/**
 * Version (8), rendering instant (8), checksum of the key (4), lengths of the facts (4) and of facts and bytes (4), before
 * facts, bytes and the tail.
 */
const HEAD_BYTES = 28
/** Usual corrections of a clock are smaller. */
const AHEAD_MS_MAX = 5_000

type Unsaved = PackedDocument | PlacedDocument

export type DocumentStoreOptions = {
  readonly path: string
  /** Identifies the code that renders the documents. Documents of another maker are not loaded. */
  readonly maker: string
  /** The clock was set, so the ages of stored documents are unknown. */
  readonly isClockNew: boolean
  /** A running engine leaves the check of all pages to the next start. */
  readonly isAtWork?: boolean
  readonly checkpointer?: WalCheckpointer | undefined
}

/**
 * The last published document of every key. A starting engine sends them until it has rendered newer ones. They have a
 * file of their own, because its loss costs only seconds.
 */
export class DocumentStore {
  readonly #db: Database.Database
  readonly #log: WalLog
  readonly #maker: string
  readonly #unsaved = new Map<DocumentKey, Unsaved>()
  /** The content that is written, in one buffer: a new one for each document would wait for the garbage collector. */
  #content = Buffer.alloc(0)

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
    const kind = {
      name: 'documents',
      migrations: documentMigrations,
      isCheckedWhole: !isAtWork,
      use,
    }
    if (options.isClockNew) removeFiles(options.path)
    const opened = openSqliteFile(options.path, kind, nowMs)
    // A document from the future: the clock was set back, so all ages are unknown.
    if (opened.db.#newestMs() <= nowMs + AHEAD_MS_MAX) return opened
    opened.db.close()
    removeFiles(options.path)
    return openSqliteFile(options.path, kind, nowMs)
  }

  /** Counts the documents, and the damaged ones among them, without changing the file. */
  static inspect(path: string): FileInspection<{
    readonly documents: number
    readonly damaged: number
    /** Time at which the newest was rendered; null without documents. */
    readonly newestMs: number | null
  }> {
    return inspectSqliteFile(path, documentMigrations, (db) => {
      checkTable(db, 'document')
      const rows = db
        .prepare<[], { content: Buffer; crc: number; ms: number }>(
          'SELECT content, crc, rendered_ms AS ms FROM document',
        )
        .all()
      const damaged = rows.filter(({ content, crc }) => crc32(content) !== crc)
      const newestMs = rows.length === 0 ? null : Math.max(...rows.map(({ ms }) => ms))
      return { documents: rows.length, damaged: damaged.length, newestMs }
    })
  }

  /**
   * Documents of the same maker. No other method may be called before the last of them was read.
   * @param onLeftOut receives the key of a document that is damaged, too large, or not what this version writes
   */
  *load(onLeftOut: (key: string) => void = () => {}): Generator<PackedDocument> {
    const rows = this.#db
      .prepare<[string], { key: DocumentKey; content: Buffer | null; crc: number }>(
        `SELECT key, iif(length(content) <= ${CONTENT_BYTES_MAX}, content, NULL) AS content, crc FROM document WHERE maker = ?`,
      )
      .iterate(this.#maker)
    for (const { key, content, crc } of rows) {
      const isWritten = content !== null && crc32(content) === crc
      const document = isWritten ? documentFrom(key, content) : null
      if (content !== null) releaseBlob(content)
      if (document === null) onLeftOut(key)
      else yield document
    }
  }

  /** Documents that the next {@link save} writes. */
  get unsaved(): readonly Unsaved[] {
    return [...this.#unsaved.values()]
  }

  add(documents: readonly Unsaved[]): void {
    for (const document of documents) this.#unsaved.set(document.key, document)
  }

  /**
   * Saves in slices. After a failure the next call continues with the remaining documents.
   * @throws what SQLite throws, and OperatingError for the disk
   */
  *save(): Generator<unknown> {
    // By key, so that a document that is replaced during the save is not written twice.
    const keys = [...this.#unsaved.keys()]
    for (let at = 0; at < keys.length; at += PER_SLICE) {
      const slice = keys.slice(at, at + PER_SLICE).flatMap((key) => this.#unsaved.get(key) ?? [])
      this.#put(slice)
      for (const { key } of slice) this.#unsaved.delete(key)
      yield
    }
  }

  /** Removes the documents of all other coins. Call it after a complete {@link save}. */
  retain(coins: ReadonlySet<string>): void {
    const keys = this.#db.prepare<[], DocumentKey>('SELECT key FROM document').pluck().all()
    const isGone = (subject: string) => subject !== WHOLE_MARKET && !coins.has(subject)
    const gone = keys.filter((key) => isGone(subjectOf(key)))
    if (gone.length === 0) return
    const remove = this.#db.prepare<[DocumentKey]>('DELETE FROM document WHERE key = ?')
    this.#log.write(() => {
      for (const key of gone) remove.run(key)
    })
  }

  /** Saves the remaining documents, and waits for the disk. */
  close(): void {
    try {
      for (const _ of this.save());
    } finally {
      this.#log.close()
    }
  }

  /** All of them or none. */
  #put(documents: readonly Unsaved[]): void {
    const put = this.#db.prepare<[string, string, number, Buffer, number]>(
      'INSERT OR REPLACE INTO document (key, maker, rendered_ms, content, crc) VALUES (?, ?, ?, ?, ?)',
    )
    this.#log.write(() => {
      for (const unsaved of documents) {
        const document = unsaved instanceof PackedDocument ? unsaved : unsaved.copy()
        // The coin is no longer listed.
        if (document === undefined) continue
        const content = this.#contentOf(document)
        put.run(document.key, this.#maker, document.renderedAtMs, content, crc32(content))
      }
    })
  }

  /** Valid until the next call. */
  #contentOf(document: PackedDocument): Buffer {
    const { key, version, renderedAtMs, content, factsLength, end } = document
    const endAt = HEAD_BYTES + content.length
    const length = endAt + (end?.length ?? 0)
    if (this.#content.length < length) this.#content = Buffer.alloc(length)
    this.#content.writeDoubleLE(version, 0)
    this.#content.writeDoubleLE(renderedAtMs, 8)
    this.#content.writeUInt32LE(crc32(key), 16)
    this.#content.writeUInt32LE(factsLength, 20)
    this.#content.writeUInt32LE(content.length, 24)
    this.#content.set(content, HEAD_BYTES)
    if (end !== undefined) this.#content.set(end, endAt)
    return this.#content.subarray(0, length)
  }

  #newestMs(): number {
    const newest = this.#db
      .prepare<[], { ms: number | null }>('SELECT max(rendered_ms) AS ms FROM document')
      .get()
    return newest?.ms ?? Number.NEGATIVE_INFINITY
  }
}

/** A symbolic link to them stays. */
function removeFiles(path: string): void {
  const place = placeOf(path)
  for (const end of ['', '-wal', '-shm']) rmSync(`${place}${end}`, { force: true })
}

/** @returns null for another form than {@link PackedDocument} */
function documentFrom(key: DocumentKey, content: Buffer): PackedDocument | null {
  if (content.length < HEAD_BYTES || content.readUInt32LE(16) !== crc32(key)) return null
  const [version, renderedAtMs] = [content.readDoubleLE(0), content.readDoubleLE(8)]
  const factsLength = content.readUInt32LE(20)
  const bytesAt = HEAD_BYTES + factsLength
  const endAt = HEAD_BYTES + content.readUInt32LE(24)
  if (bytesAt > endAt || endAt > content.length) return null
  try {
    const { parts } = factsFrom(content.subarray(HEAD_BYTES, bytesAt))
    if (!parts.every((part) => isPartOf(part, endAt - bytesAt))) return null
  } catch {
    return null
  }
  const copyOf = (from: number, to: number) => new Uint8Array(content.subarray(from, to))
  return new PackedDocument({
    ...{ key, version, renderedAtMs, content: copyOf(HEAD_BYTES, endAt), factsLength },
    end: endAt < content.length ? copyOf(endAt, content.length) : undefined,
  })
}

function isPartOf(part: Part, bytes: number): boolean {
  return part.kind !== 'text' || (part.start >= 0 && part.end <= bytes)
}
