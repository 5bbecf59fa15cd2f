import { mkdirSync, readlinkSync, realpathSync, renameSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import Database from 'better-sqlite3'
import { isAbsence, OperatingError } from '../domain/errors.ts'
import { lstatPresent, statPresent } from './present-file.ts'

/** Another program, such as the shell of SQLite, may be writing when a file is opened. */
const OPEN_WAIT_MS_MAX = 500

/** Page cache per file. The operating system caches the file as well; the default is 16 MB. */
const CACHE_KIB = 2_048

const DAMAGED = 'file_damaged'

/** Name, schema and opening of one kind of file. */
export type FileKind<Opened> = {
  /** For errors: `<name>_unusable`. */
  readonly name: string
  /**
   * Step n brings a file from schema version n to n + 1, beginning with an empty one. A released step never changes.
   */
  readonly migrations: readonly ((db: Database.Database) => void)[]
  /** Whether to run `quick_check`, which takes a second per 100 MB from a cold disk. */
  readonly isCheckedWhole: boolean
  /** `place` is the path of the file with all links resolved. */
  readonly use: (db: Database.Database, place: string) => Opened
}

export type OpenedFile<Opened> = {
  readonly db: Opened
  /** New path of a damaged file, or of one of another schema; null for none. */
  readonly setAside: string | null
  /** Why it was moved. */
  readonly reason: string | null
}

/** A file was set aside, and no new one can be begun yet. The next attempt does not report the old file again. */
export class NotBegunError extends OperatingError {
  readonly setAside: string
  readonly reason: string

  constructor(
    name: string,
    path: string,
    { setAside, reason, cause }: { setAside: string; reason: string; cause: unknown },
  ) {
    super(
      `${name}_unusable`,
      `${path} was moved to ${setAside} (${reason}), and no new ${name} can be begun`,
      { cause },
    )
    this.setAside = setAside
    this.reason = reason
  }
}

/**
 * Opens a database for writing. The lock of the data directory keeps other services away (`lockDataDir`); readers may
 * open the same file. A damaged file, or one of another schema, is set aside, and a new one is begun.
 * @throws OperatingError when a file that may be whole cannot be used: busy, full, forbidden.
 */
export function openSqliteFile<Opened>(
  path: string,
  kind: FileKind<Opened>,
  nowMs: number,
): OpenedFile<Opened> {
  try {
    mkdirSync(dirname(path), { recursive: true })
    const place = placeOf(path)
    const found = openChecked(place, kind)
    if ('db' in found) return { ...found, setAside: null, reason: null }
    const { reason } = found
    const setAside = setSqliteFileAside(place, nowMs)
    try {
      const fresh = openChecked(place, kind)
      if ('db' in fresh) return { ...fresh, setAside, reason }
      throw new OperatingError(`${kind.name}_unusable`, `it is unusable: ${fresh.reason}`)
    } catch (cause) {
      throw new NotBegunError(kind.name, path, { setAside, reason, cause })
    }
  } catch (cause) {
    if (cause instanceof OperatingError) throw cause
    const trouble = isHeld(cause) ? 'is held by another program' : 'cannot be used'
    throw new OperatingError(`${kind.name}_unusable`, `the ${kind.name} ${path} ${trouble}`, {
      cause,
    })
  }
}

/** State and contents of a file that is only read. */
export type FileInspection<Found> =
  | { readonly state: 'absent' }
  /** Damaged, or of an unknown schema: a service would set it aside and begin a new one. */
  | {
      readonly state: 'unusable'
      readonly bytes: number
      readonly reason: string
      /** Of a later version; a service does not start. */
      readonly isNewer: boolean
    }
  | {
      readonly state: 'readable'
      readonly bytes: number
      readonly version: number
      /** Time of the last write. */
      readonly writtenMs: number
      readonly found: Found
    }

/**
 * Reads a file without changing it, also while a service writes it. A file of an earlier
 * schema is readable too, since a service migrates it.
 * @param look reads only the tables of `version`; may throw what {@link isDamage} knows
 * @throws if the file cannot be read now, for example on a full disk; a service may still open it
 */
export function inspectSqliteFile<Found>(
  path: string,
  migrations: FileKind<unknown>['migrations'],
  look: (db: Database.Database, version: number) => Found,
): FileInspection<Found> {
  const place = placeOf(path)
  const parts = [place, `${place}-wal`].flatMap((part) => {
    const stat = statPresent(part)
    return stat === undefined ? [] : [stat]
  })
  if (parts.length === 0) return { state: 'absent' }
  const bytes = parts.reduce((sum, { size }) => sum + size, 0)
  let db: Database.Database | undefined
  try {
    db = new Database(path, { readonly: true, fileMustExist: true, timeout: 0 })
    const version = schemaVersion(db)
    const reason = schemaFault(db, version, migrations)
    const isNewer = version > migrations.length
    if (reason !== null) return { state: 'unusable', bytes, reason, isNewer }
    const writtenMs = Math.max(...parts.map(({ mtimeMs }) => mtimeMs))
    return { state: 'readable', bytes, version, writtenMs, found: look(db, version) }
  } catch (cause) {
    if (isUnusable(cause))
      return { state: 'unusable', bytes, reason: cause.message, isNewer: false }
    throw cause
  } finally {
    db?.close()
  }
}

/**
 * Resolves symbolic links, also to a file that does not exist yet. SQLite puts the log next to the file, not next to
 * the link.
 */
export function placeOf(path: string): string {
  if (lstatPresent(path)?.isSymbolicLink() !== true) return path
  // Throws for a circle of links.
  statPresent(path)
  return placeOf(resolve(realpathSync(dirname(path)), readlinkSync(path)))
}

/** Moves a closed file and its log; a link to it stays. @returns the new path */
export function setSqliteFileAside(path: string, nowMs: number): string {
  const place = placeOf(path)
  const target = `${place}.corrupt-${nowMs}`
  for (const suffix of ['', '-wal', '-shm']) {
    try {
      renameSync(place + suffix, target + suffix)
    } catch (cause) {
      if (!isAbsence(cause)) throw cause
    }
  }
  return target
}

/** Checks the structure of one table. @throws what {@link isDamage} knows. */
export function checkTable(db: Database.Database, table: string): void {
  const verdict = db.pragma(`quick_check(${table})`, { simple: true })
  if (verdict !== 'ok') throw new OperatingError(DAMAGED, `quick_check: ${String(verdict)}`)
}

/**
 * Frees a blob now, and empties every view of it. The garbage collector frees blobs late, because it counts the small
 * objects and hardly the memory behind them, and malloc keeps the memory that it has grown to.
 */
export function releaseBlob({ buffer }: ArrayBufferView): void {
  if (buffer instanceof ArrayBuffer) buffer.transfer(0)
}

/** Whether an error means that a file is damaged. */
export function isDamage(cause: unknown): cause is Error {
  if (cause instanceof OperatingError) return cause.code === DAMAGED
  return hasCode(cause, /^SQLITE_(CORRUPT|NOTADB)/)
}

/** Whether an error means that another program has locked the file. */
export function isHeld(cause: unknown): boolean {
  return hasCode(cause, /^SQLITE_BUSY/)
}

function hasCode(cause: unknown, code: RegExp): cause is Error {
  return cause instanceof Database.SqliteError && code.test(cause.code)
}

/** @returns the opened file, or why it is unusable */
function openChecked<Opened>(
  path: string,
  { migrations, isCheckedWhole, use }: FileKind<Opened>,
): { readonly db: Opened } | { readonly reason: string } {
  let db: Database.Database | undefined
  try {
    db = new Database(path, { timeout: OPEN_WAIT_MS_MAX })
    db.pragma('journal_mode = WAL')
    // A killed process loses nothing; a power cut may lose the last seconds: https://sqlite.org/pragma.html#pragma_synchronous
    db.pragma('synchronous = NORMAL')
    db.pragma(`cache_size = -${CACHE_KIB}`)
    const reason = fault(db, migrations, isCheckedWhole)
    // A running service must not be blocked by another program.
    db.pragma('busy_timeout = 0')
    if (reason === null) return { db: use(db, path) }
    db.close()
    return { reason }
  } catch (cause) {
    db?.close()
    if (isUnusable(cause)) return { reason: cause.message }
    throw cause
  }
}

/** An intact file accepts every statement used here, so SQLITE_ERROR means an unusable file. */
function isUnusable(cause: unknown): cause is Error {
  return isDamage(cause) || hasCode(cause, /^SQLITE_ERROR$/)
}

/** Migrates the schema. @returns the fault of the file, or null */
function fault(
  db: Database.Database,
  migrations: FileKind<unknown>['migrations'],
  isCheckedWhole: boolean,
): string | null {
  const version = schemaVersion(db)
  const reason = schemaFault(db, version, migrations)
  if (reason !== null) return reason
  if (version < migrations.length)
    db.transaction(() => {
      for (const migrate of migrations.slice(version)) migrate(db)
      db.pragma(`user_version = ${migrations.length}`)
    }).immediate()
  if (!isCheckedWhole) return null
  const verdict = db.pragma('quick_check', { simple: true })
  return verdict === 'ok' ? null : `quick_check: ${String(verdict)}`
}

function schemaVersion(db: Database.Database): number {
  return Number(db.pragma('user_version', { simple: true }))
}

function schemaFault(
  db: Database.Database,
  version: number,
  migrations: FileKind<unknown>['migrations'],
): string | null {
  if (version < 0 || version > migrations.length) return `schema version ${version}`
  const isAsWritten = schemaOf(db) === expectedSchemas(migrations)[version]
  return isAsWritten ? null : `not the schema of version ${version}`
}

/** The text of the schema after each step. */
function expectedSchemas(migrations: FileKind<unknown>['migrations']): readonly string[] {
  const db = new Database(':memory:')
  const schemas = [schemaOf(db)]
  for (const migrate of migrations) {
    migrate(db)
    schemas.push(schemaOf(db))
  }
  db.close()
  return schemas
}

function schemaOf(db: Database.Database): string {
  const rows = db
    .prepare<[], { type: string; name: string; sql: string | null }>(
      'SELECT type, name, sql FROM sqlite_schema ORDER BY type, name',
    )
    .all()
  return rows.map(({ type, name, sql }) => `${type} ${name} ${sql}`).join('\n')
}
