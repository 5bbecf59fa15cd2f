import { statSync } from 'node:fs'
import Database from 'better-sqlite3'
import { isAbsence, OperatingError } from '../../domain/errors.ts'
import { dialects, LedgerBooks } from './ledger-books.ts'
import { sqliteQuery } from './sqlite-query.ts'
import { MOVED_VERSION, SCHEMA_VERSION } from './sqlite-schema.ts'

function tablesOf(db: Database.Database): readonly string[] {
  return db.prepare<[], string>('SELECT name FROM sqlite_schema').pluck().all()
}

/** The books of a ledger in a file. */
export class LedgerReport extends LedgerBooks {
  readonly #db: Database.Database

  /** @throws OperatingError if there is no readable ledger */
  constructor(path: string) {
    const db = openedLedger(path)
    super(sqliteQuery(db), dialects.sqlite, tablesOf(db).includes('transaction_costs'))
    this.#db = db
  }

  /**
   * Reads every page.
   * @returns the number of payments
   * @throws OperatingError for a damaged or unreadable file
   */
  check(): number {
    let verdict: unknown
    try {
      verdict = this.#db.pragma('quick_check', { simple: true })
    } catch (cause) {
      // Not necessarily damage: the disk can be full or failing.
      throw new OperatingError('ledger_unusable', 'the payment ledger cannot be read', { cause })
    }
    if (verdict !== 'ok')
      throw new OperatingError('ledger_corrupt', `the payment ledger is damaged: ${verdict}`)
    return Number(this.#db.prepare('SELECT count(*) FROM payments').pluck().get())
  }

  close(): void {
    this.#db.close()
  }
}

function openedLedger(path: string): Database.Database {
  let db: Database.Database | undefined
  try {
    statSync(path)
    db = new Database(path, { readonly: true })
    checkIsLedger(db, path)
    return db
  } catch (cause) {
    db?.close()
    if (cause instanceof OperatingError) throw cause
    if (isAbsence(cause))
      throw new OperatingError('ledger_absent', `there is no payment ledger at ${path}`)
    throw isNoDatabase(cause)
      ? foreignLedger(path)
      : new OperatingError('ledger_unusable', `${path} cannot be read`, { cause })
  }
}

/** @throws OperatingError for another schema, or a file that is not a ledger */
function checkIsLedger(db: Database.Database, path: string): void {
  checkHasPayments(db, path)
  const version = db.pragma('user_version', { simple: true })
  if (version === SCHEMA_VERSION) return
  if (version === MOVED_VERSION)
    throw new OperatingError(
      'ledger_moved',
      `${path} was moved to PostgreSQL: its payments are there. Give the database by --ledger.`,
    )
  const isOlder = Number(version) < SCHEMA_VERSION
  throw new OperatingError(
    isOlder ? 'ledger_older' : 'ledger_version',
    `${path} has schema ${String(version)}; this version of perpscope reads ${SCHEMA_VERSION}. ${isOlder ? 'perpscope serve migrates it.' : 'Use a later version.'}`,
  )
}

/**
 * For any schema version.
 * @returns the names of its tables and indices
 * @throws OperatingError for a file that is not a ledger
 */
export function checkHasPayments(db: Database.Database, path: string): readonly string[] {
  const tables = tablesOf(db)
  if (tables.length === 0)
    throw new OperatingError(
      'ledger_empty',
      `${path} is not a ledger: it has no tables (${statSync(path).size} bytes). New payments are in ${path}-wal, so ` +
        'a copy of ledger.db alone lacks them. Restore a backup (perpscope restore).',
    )
  if (!tables.includes('payments')) throw foreignLedger(path)
  return tables
}

export function foreignLedger(path: string): OperatingError {
  return new OperatingError(
    'ledger_foreign',
    `${path} is not a ledger: it is the file of another program. Restore a backup (perpscope restore).`,
  )
}

export function isNoDatabase(cause: unknown): boolean {
  return cause instanceof Database.SqliteError && cause.code === 'SQLITE_NOTADB'
}
