import { statSync } from 'node:fs'
import Database from 'better-sqlite3'
import { isAbsence, OperatingError } from '../domain/errors.ts'
import type { Finality } from './finality.ts'
import type { PaymentState } from './ledger.ts'
import { SCHEMA_VERSION } from './ledger-schema.ts'

/** Instants of the first settlement attempts that count: from `sinceMs`, before `untilMs`. */
export type ReportRange = { readonly sinceMs: number; readonly untilMs: number }

/** What was sold on one UTC day, of one analysis, on one network, with one end. */
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

/** The ledger as an operator reads it, also while a service writes it. Changes nothing. */
export class LedgerReport {
  readonly #db: Database.Database

  /** @throws OperatingError when there is no ledger there, or one that cannot be read */
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

  /** Reads every page. @throws OperatingError where they contradict each other, or cannot be read */
  check(): void {
    let verdict: unknown
    try {
      verdict = this.#db.pragma('quick_check', { simple: true })
    } catch (cause) {
      // Not damage for sure: a disk may be full, or refuse.
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

  /** One by one, the oldest first: a year of them need not fit into memory. */
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

/** @throws OperatingError for what is no ledger, or none of this version */
function checkIsLedger(db: Database.Database, path: string): void {
  checkHasPayments(db, path)
  const version = db.pragma('user_version', { simple: true })
  if (version === SCHEMA_VERSION) return
  throw new OperatingError(
    'ledger_version',
    `${path} has schema ${String(version)}; this version reads ${SCHEMA_VERSION}, to which serve brings it`,
  )
}

/** Of any version. @returns the names of its tables and indices. @throws OperatingError for what is no ledger */
export function checkHasPayments(db: Database.Database, path: string): readonly string[] {
  const tables = db.prepare<[], string>('SELECT name FROM sqlite_schema').pluck().all()
  if (tables.length === 0)
    throw new OperatingError(
      'ledger_empty',
      `${path} is empty, this is no ledger (${statSync(path).size} bytes): a running service keeps new ` +
        `payments in ${path}-wal, so a copy of ledger.db alone lacks them; put a backup back (perpscope restore)`,
    )
  if (!tables.includes('payments')) throw foreignLedger(path)
  return tables
}

export function foreignLedger(path: string): OperatingError {
  return new OperatingError(
    'ledger_foreign',
    `${path} is the file of another program, this is no ledger: put a backup back (perpscope restore)`,
  )
}

export function isNoDatabase(cause: unknown): boolean {
  return cause instanceof Database.SqliteError && cause.code === 'SQLITE_NOTADB'
}
