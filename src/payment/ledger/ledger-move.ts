import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import Database from 'better-sqlite3'
import { OperatingError } from '../../domain/errors.ts'
import type { Postgres } from './postgres.ts'
import { ledgerTables } from './postgres-ledger-tables.ts'
import { migrateTables } from './postgres-schema.ts'
import { costTables } from './postgres-transaction-costs.ts'
import { lockLedger, SqliteLedger } from './sqlite-ledger.ts'
import { MOVED_VERSION } from './sqlite-schema.ts'

export type MovedLedger = {
  readonly payments: number
  /** Sum of all payments, in USDC atoms. */
  readonly amount: bigint
  /** SHA-256 over all payments and answers, equal in both stores. */
  readonly digest: string
}

/** Of a payment and its answer, in this order in both stores. */
type Row = Readonly<Record<string, bigint | string | Buffer | null>> & {
  readonly id: bigint
  readonly amount: bigint
}

const PAGE_ROWS = 100
/** Of rows that were moved, in the column `claim`. */
const MOVED = 'moved'

const paymentColumns =
  'id network asset payer nonce state route binding payload_hash identifier amount finality transaction_hash payment valid_before_ms begun_ms updated_ms access caller_until_ms'.split(
    ' ',
  )
const answerColumns = 'status headers body answer_hash expires_ms'.split(' ')
const costColumns = ['network', 'transaction_hash', 'purpose', 'payments', 'fee', 'at_ms']
const columns = [...paymentColumns, ...answerColumns]
const insertPayment = `INSERT INTO perpscope.payments (${paymentColumns.join(', ')}, gateway, claim)
  VALUES (${paymentColumns.map((_, index) => `$${index + 1}`).join(', ')}, '${MOVED}', '${MOVED}')`
const insertAnswer = `INSERT INTO perpscope.answers VALUES ($1, $2, $3, $4, $5, $6)`

/**
 * Copies a ledger file into an empty ledger in PostgreSQL, compares both, and marks the file, which is not served again.
 * An interrupted move continues where it ended.
 * @throws OperatingError if a service has the file, if the database has other payments, or if both differ in the end
 */
export async function moveLedger(path: string, db: Postgres): Promise<MovedLedger> {
  if (!existsSync(path))
    throw new OperatingError('ledger_absent', `there is no payment ledger at ${path}`)
  // Migrates the file, and checks its pages.
  await new SqliteLedger(path).close()
  const lock = lockLedger(path)
  const file = new Database(path)
  try {
    for (const tables of [ledgerTables, costTables]) await migrateTables(db, tables)
    for (let after = await lastMoved(db); ; ) {
      const rows = pageOf(file, after)
      await insertAll(db, rows)
      const last = rows.at(-1)
      if (last === undefined) break
      after = last.id
    }
    await db.query(
      `SELECT setval(pg_get_serial_sequence('perpscope.payments', 'id'), max(id))
         FROM perpscope.payments HAVING max(id) IS NOT NULL`,
    )
    const [ours, theirs] = [
      await summed(async (after) => pageOf(file, after)),
      await summed((after) => movedPage(db, after)),
    ]
    if (ours.digest !== theirs.digest)
      throw new OperatingError(
        'ledger_move_differs',
        `the copy in PostgreSQL differs from ${path}: ${theirs.payments} of ${ours.payments} payments, sum ` +
          `${theirs.amount} of ${ours.amount}. Empty the schema perpscope of the database, and move again.`,
      )
    await moveCosts(file, db)
    file.pragma(`user_version = ${MOVED_VERSION}`)
    return ours
  } finally {
    file.close()
    lock.close()
  }
}

/** The last payment of an interrupted move; 0 for an empty ledger. */
async function lastMoved(db: Postgres): Promise<bigint> {
  const [found] = await db.query<{ others: bigint; gateways: bigint; last: bigint }>(`
    SELECT count(*) FILTER (WHERE claim <> '${MOVED}') AS others, coalesce(max(id), 0) AS last,
        (SELECT count(*) FROM perpscope.gateways WHERE seen > now() - interval '15 s') AS gateways
      FROM perpscope.payments`)
  if (found === undefined || found.others > 0n || found.gateways > 0n)
    throw new OperatingError(
      'ledger_in_use',
      'the ledger in this database has payments of its own or a gateway at work: move into an empty one, before the first gateway starts',
    )
  return found.last
}

function pageOf(file: Database.Database, after: bigint): readonly Row[] {
  return file
    .prepare<[bigint], Row>(
      `SELECT ${columns.join(', ')} FROM payments LEFT JOIN answers ON payment_id = id
         WHERE id > ? ORDER BY id LIMIT ${PAGE_ROWS}`,
    )
    .safeIntegers()
    .all(after)
}

function movedPage(db: Postgres, after: bigint): Promise<readonly Row[]> {
  return db.query<Row>(
    `SELECT ${columns.join(', ')} FROM perpscope.payments
         LEFT JOIN perpscope.answers ON payment_id = id
       WHERE id > $1 ORDER BY id LIMIT ${PAGE_ROWS}`,
    [after],
  )
}

/** A page is moved entirely or not at all. */
async function insertAll(db: Postgres, rows: readonly Row[]): Promise<void> {
  if (rows.length === 0) return
  await db.transaction(async (query) => {
    for (const row of rows) {
      await query(
        insertPayment,
        paymentColumns.map((name) => row[name]),
      )
      if (row['status'] !== null)
        await query(insertAnswer, [row.id, ...answerColumns.map((name) => row[name])])
    }
  })
}

/** Fees that were moved before an interruption stay as they are. */
async function moveCosts(file: Database.Database, db: Postgres): Promise<void> {
  const rows = file
    .prepare<[], Row>(`SELECT ${costColumns.join(', ')} FROM transaction_costs`)
    .safeIntegers()
    .iterate()
  for (const row of rows)
    await db.query(
      `INSERT INTO perpscope.transaction_costs (${costColumns.join(', ')})
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`,
      costColumns.map((name) => row[name]),
    )
}

async function summed(pageAfter: (id: bigint) => Promise<readonly Row[]>): Promise<MovedLedger> {
  const digest = createHash('sha256')
  let [payments, amount, after] = [0, 0n, 0n]
  for (;;) {
    const rows = await pageAfter(after)
    for (const row of rows) {
      digest.update(JSON.stringify(columns.map((name) => textOf(row[name] ?? null))))
      payments += 1
      amount += row.amount
      after = row.id
    }
    if (rows.length < PAGE_ROWS) return { payments, amount, digest: digest.digest('hex') }
  }
}

function textOf(value: bigint | number | string | Buffer | null): string | null {
  if (value === null) return null
  return Buffer.isBuffer(value) ? value.toString('base64') : String(value)
}
