import { statSync } from 'node:fs'
import Database from 'better-sqlite3'
import { isAbsence, OperatingError } from '../../domain/errors.ts'
import type { Finality } from '../finality.ts'
import type { PaymentState } from './ledger.ts'
import { SCHEMA_VERSION } from './sqlite-schema.ts'

/** Begin of the first settlement attempt: from `sinceMs` to before `untilMs`. */
export type ReportRange = { readonly sinceMs: number; readonly untilMs: number }

/** Payments of one UTC day, analysis, network and state. */
export type ReportLine = {
  /** Such as `2026-01-31`. */
  readonly day: string
  readonly route: string
  readonly network: string
  readonly state: PaymentState
  readonly payments: number
  /** Millionths of a USDC. */
  readonly amountAtomic: number
}

export type ReportedPayment = {
  readonly begunMs: number
  readonly route: string
  readonly network: string
  readonly asset: string
  readonly payer: string
  readonly nonce: string
  readonly amountAtomic: number
  readonly finality: Finality
  readonly state: PaymentState
  readonly transaction: string | null
}

/** Read-only view of the ledger for operators, also while a service writes it. */
export class LedgerReport {
  readonly #db: Database.Database

  /** @throws OperatingError if there is no readable ledger */
  constructor(path: string) {
    let db: Database.Database | undefined
    try {
      statSync(path)
      db = new Database(path, { readonly: true })
      checkIsLedger(db, path)
    } catch (cause) {
      db?.close()
      if (cause instanceof OperatingError) throw cause
      if (isAbsence(cause))
        throw new OperatingError('ledger_absent', `there is no payment ledger at ${path}`)
      throw isNoDatabase(cause)
        ? foreignLedger(path)
        : new OperatingError('ledger_unusable', `${path} cannot be read`, { cause })
    }
    this.#db = db
  }

  /**
   * Reads every page.
   * @throws OperatingError for a damaged or unreadable file
   */
  check(): void {
    let verdict: unknown
    try {
      verdict = this.#db.pragma('quick_check', { simple: true })
    } catch (cause) {
      // Not necessarily damage: the disk can be full or failing.
      throw new OperatingError('ledger_unusable', 'the payment ledger cannot be read', { cause })
    }
    if (verdict !== 'ok')
      throw new OperatingError('ledger_corrupt', `the payment ledger is damaged: ${verdict}`)
  }

  lines({ sinceMs, untilMs }: ReportRange): readonly ReportLine[] {
    return this.#db
      .prepare<[number, number], ReportLine>(`
        SELECT date(begun_ms / 1000, 'unixepoch') AS day, route, network, state,
            count(*) AS payments, sum(amount) AS amountAtomic
          FROM payments WHERE begun_ms >= ? AND begun_ms < ?
          GROUP BY day, route, network, state ORDER BY day, route, network, state`)
      .all(sinceMs, untilMs)
  }

  /** Iterates, because a year of payments may not fit into memory. */
  payments({ sinceMs, untilMs }: ReportRange): IterableIterator<ReportedPayment> {
    return this.#db
      .prepare<[number, number], ReportedPayment>(`
        SELECT begun_ms AS begunMs, route, network, asset, payer, nonce, amount AS amountAtomic,
            finality, state, transaction_hash AS "transaction"
          FROM payments WHERE begun_ms >= ? AND begun_ms < ? ORDER BY begun_ms`)
      .iterate(sinceMs, untilMs)
  }

  close(): void {
    this.#db.close()
  }
}

/** @throws OperatingError for another schema, or a file that is not a ledger */
function checkIsLedger(db: Database.Database, path: string): void {
  checkHasPayments(db, path)
  const version = db.pragma('user_version', { simple: true })
  if (version === SCHEMA_VERSION) return
  throw new OperatingError(
    'ledger_version',
    `${path} has schema ${String(version)}; this version of perpscope reads ${SCHEMA_VERSION}. perpscope serve migrates older ledgers.`,
  )
}

/**
 * For any schema version.
 * @returns the names of its tables and indices
 * @throws OperatingError for a file that is not a ledger
 */
export function checkHasPayments(db: Database.Database, path: string): readonly string[] {
  const tables = db.prepare<[], string>('SELECT name FROM sqlite_schema').pluck().all()
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
