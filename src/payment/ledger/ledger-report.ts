import { statSync } from 'node:fs'
import Database from 'better-sqlite3'
import { isAbsence, OperatingError } from '../../domain/errors.ts'
import type {
  CostLine,
  LedgerBooks,
  PaymentRow,
  ReportDimension,
  ReportedPayment,
  ReportLine,
  ReportRange,
} from './ledger-books.ts'
import { dimensionsByDefault, groupColumns, mergedLines, reportedPayment } from './ledger-books.ts'
import { MOVED_VERSION, SCHEMA_VERSION } from './sqlite-schema.ts'

/** A sum of wei can exceed the integers of SQLite. */
type FeeParts = { readonly feeGiga: bigint; readonly feeRest: bigint }

const GIGA = 1_000_000_000n

/** Group columns `g0`, `g1` and so on, and the sums. */
type GroupRow = Readonly<Record<`g${number}`, string>> &
  Pick<ReportLine, 'state' | 'amount'> &
  FeeParts & {
    readonly payments: bigint
    readonly unknownFees: bigint
  }

const DAY = `date(begun_ms / 1000, 'unixepoch')`
/** Share of a payment in the fee of its transaction. */
const FEE = 'c.fee / c.payments'
/** Until a service of this version was started over the ledger. */
const NO_COSTS = `(SELECT '' AS network, '' AS transaction_hash, '' AS purpose, 1 AS payments, 0 AS fee,
  0 AS at_ms WHERE false)`

function tablesOf(db: Database.Database): readonly string[] {
  return db.prepare<[], string>('SELECT name FROM sqlite_schema').pluck().all()
}

/** Read-only view of the ledger for operators, also while a service writes it. */
export class LedgerReport implements LedgerBooks {
  readonly #db: Database.Database
  readonly #costs: string

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
    this.#costs = tablesOf(db).includes('transaction_costs') ? 'transaction_costs' : NO_COSTS
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

  lines(
    { sinceMs, untilMs }: ReportRange,
    by: readonly ReportDimension[] = dimensionsByDefault,
  ): readonly ReportLine[] {
    const columns = by.map((name) => (name === 'day' ? DAY : groupColumns[name]))
    const aliases = columns.map((column, index) => `${column} AS g${index}`)
    const groups = [...by.map((_, index) => `g${index}`), 'state']
    const rows = this.#db
      .prepare<[number, number], GroupRow>(`
        SELECT ${[...aliases, 'state'].join(', ')}, count(*) AS payments, sum(amount) AS amount,
            coalesce(sum(${FEE} / ${GIGA}), 0) AS feeGiga, coalesce(sum(${FEE} % ${GIGA}), 0) AS feeRest,
            sum(state = 'settled' AND ${FEE} IS NULL AND instr(nonce, ':') = 0) AS unknownFees
          FROM payments p ${this.#join} WHERE begun_ms >= ? AND begun_ms < ?
          GROUP BY ${groups.join(', ')}`)
      .safeIntegers()
      .all(sinceMs, untilMs)
    return mergedLines(
      rows.map(({ state, payments, amount, feeGiga, feeRest, unknownFees, ...values }) => ({
        ...{ state, amount, fee: feeGiga * GIGA + feeRest },
        payments: Number(payments),
        unknownFees: Number(unknownFees),
        values: by.map((_, index) => values[`g${index}`] as string),
      })),
      by,
    )
  }

  costs({ sinceMs, untilMs }: ReportRange): readonly CostLine[] {
    return this.#db
      .prepare<
        [number, number],
        Pick<CostLine, 'day' | 'network' | 'purpose'> & FeeParts & { readonly transactions: bigint }
      >(`
        SELECT date(at_ms / 1000, 'unixepoch') AS day, network, purpose,
            count(*) AS transactions, sum(fee / ${GIGA}) AS feeGiga, sum(fee % ${GIGA}) AS feeRest
          FROM ${this.#costs} WHERE at_ms >= ? AND at_ms < ?
          GROUP BY day, network, purpose ORDER BY day, network, purpose`)
      .safeIntegers()
      .all(sinceMs, untilMs)
      .map(({ transactions, feeGiga, feeRest, ...line }) => ({
        ...line,
        transactions: Number(transactions),
        fee: feeGiga * GIGA + feeRest,
      }))
  }

  *payments({ sinceMs, untilMs }: ReportRange): IterableIterator<ReportedPayment> {
    const rows = this.#db
      .prepare<[number, number], PaymentRow>(`
        SELECT begun_ms AS begunMs, updated_ms AS updatedMs, valid_before_ms AS validBeforeMs,
            route, binding, p.network, asset, payer, nonce, amount, finality, state,
            p.transaction_hash AS "transaction", ${FEE} AS fee, expires_ms AS answerUntilMs,
            caller_until_ms AS callerUntilMs
          FROM payments p ${this.#join} LEFT JOIN answers ON payment_id = p.id
          WHERE begun_ms >= ? AND begun_ms < ? ORDER BY begun_ms`)
      .safeIntegers()
      .iterate(sinceMs, untilMs)
    for (const row of rows) yield reportedPayment(row)
  }

  close(): void {
    this.#db.close()
  }

  get #join(): string {
    return `LEFT JOIN ${this.#costs} c
      ON c.network = p.network AND c.transaction_hash = p.transaction_hash AND c.payments > 0`
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
