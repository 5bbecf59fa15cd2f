import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import Database from 'better-sqlite3'
import { OperatingError } from '../../domain/errors.ts'
import { channelTables } from '../channels/postgres-channel-store.ts'
import { SqliteChannelStore } from '../channels/sqlite-channel-store.ts'
import { failedSettlementTables } from '../postgres-failed-settlements.ts'
import type { MovedTable } from './moved-table.ts'
import { moveTable } from './moved-table.ts'
import type { Postgres } from './postgres.ts'
import { ledgerTables } from './postgres-ledger-tables.ts'
import { migrateTables } from './postgres-schema.ts'
import { costTables } from './postgres-transaction-costs.ts'
import { lockLedger, SqliteLedger } from './sqlite-ledger.ts'
import { MOVED_VERSION } from './sqlite-schema.ts'

export type LedgerFiles = {
  readonly ledger: string
  /** Of payment channels; it may be absent. */
  readonly channels: string
}

export type MovedLedger = MovedPayments & {
  readonly failedSettlements: number
  readonly channels: number
  readonly vouchers: number
}

type MovedPayments = {
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
const columns = [...paymentColumns, ...answerColumns]
const insertPayment = `INSERT INTO perpscope.payments (${paymentColumns.join(', ')}, gateway, claim)
  VALUES (${paymentColumns.map((_, index) => `$${index + 1}`).join(', ')}, '${MOVED}', '${MOVED}')`
const insertAnswer = `INSERT INTO perpscope.answers VALUES ($1, $2, $3, $4, $5, $6)`

const costs: MovedTable = {
  from: 'transaction_costs',
  to: 'perpscope.transaction_costs',
  columns: ['network', 'transaction_hash', 'purpose', 'payments', 'fee', 'at_ms'],
  order: {
    from: 'network, transaction_hash',
    to: 'network COLLATE "C", transaction_hash COLLATE "C"',
  },
}
const failedSettlements: MovedTable = {
  from: 'failed_settlements',
  to: 'perpscope.failed_settlements',
  columns: 'id network payer code transaction_hash state cost strikes at_ms'.split(' '),
  order: { from: 'id', to: 'id' },
}
const channels: MovedTable = {
  from: 'channels',
  to: 'perpscope.channels',
  columns:
    'id config charged signature unclaimed_since_ms balance claimed withdraw_requested_s refund_nonce refund_sent synced_ms'.split(
      ' ',
    ),
  added: { version: '1' },
  order: { from: 'id', to: 'id COLLATE "C"' },
}
const vouchers: MovedTable = {
  from: 'sales',
  to: 'perpscope.channel_sales',
  columns: ['channel_id', 'cumulative', 'hash', 'transaction_hash', 'sold_ms'],
  // The file has totals as text.
  order: {
    from: 'channel_id, length(cumulative), cumulative',
    to: 'channel_id COLLATE "C", cumulative',
  },
}

/**
 * Copies the files of a ledger into an empty ledger in PostgreSQL, compares both, and marks the files, which are not
 * served again. An interrupted move continues where it ended.
 * @throws OperatingError if a service has the files, if the database has other payments, or if both differ in the end
 */
export async function moveLedger(files: LedgerFiles, db: Postgres): Promise<MovedLedger> {
  const { ledger: path } = files
  if (!existsSync(path))
    throw new OperatingError('ledger_absent', `there is no payment ledger at ${path}`)
  // Migrates the file, and checks its pages.
  await new SqliteLedger(path).close()
  const lock = lockLedger(path)
  const file = new Database(path)
  try {
    for (const tables of [ledgerTables, failedSettlementTables, costTables, channelTables])
      await migrateTables(db, tables)
    for (let after = await lastMoved(db); ; ) {
      const rows = pageOf(file, after)
      await insertAll(db, rows)
      const last = rows.at(-1)
      if (last === undefined) break
      after = last.id
    }
    await continueIds(db, 'perpscope.payments')
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
    await moveTable(file, db, costs)
    const failed = await moveTable(file, db, failedSettlements)
    await continueIds(db, failedSettlements.to)
    const moved = await moveChannels(files.channels, db)
    file.pragma(`user_version = ${MOVED_VERSION}`)
    return { ...ours, ...moved, failedSettlements: failed }
  } finally {
    file.close()
    lock.close()
  }
}

/** The file is marked before that of the payments, so it may have been marked by an interrupted move. */
async function moveChannels(path: string, db: Postgres) {
  if (!existsSync(path)) return { channels: 0, vouchers: 0 }
  const file = new Database(path)
  try {
    // Creates the tables of a new file, and checks its pages.
    const isMarked = file.pragma('user_version', { simple: true }) === MOVED_VERSION
    if (!isMarked) new SqliteChannelStore(path).close()
    const moved = {
      channels: await moveTable(file, db, channels),
      vouchers: await moveTable(file, db, vouchers),
    }
    file.pragma(`user_version = ${MOVED_VERSION}`)
    return moved
  } finally {
    file.close()
  }
}

/** New rows get identifiers above the copied ones. */
async function continueIds(db: Postgres, table: string): Promise<void> {
  await db.query(
    `SELECT setval(pg_get_serial_sequence('${table}', 'id'), max(id)) FROM ${table}
       HAVING max(id) IS NOT NULL`,
  )
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

async function summed(pageAfter: (id: bigint) => Promise<readonly Row[]>): Promise<MovedPayments> {
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
