import { existsSync } from 'node:fs'
import Database from 'better-sqlite3'
import { OperatingError } from '../../domain/errors.ts'
import { channelTables } from '../channels/postgres-channel-store.ts'
import { SqliteChannelStore } from '../channels/sqlite-channel-store.ts'
import { failedSettlementTables } from '../stored-failed-settlements.ts'
import type { MovedTable } from './moved-table.ts'
import { moveTable } from './moved-table.ts'
import type { Postgres } from './postgres.ts'
import { ledgerTables } from './postgres-ledger-tables.ts'
import { migrateTables } from './postgres-schema.ts'
import { lockLedger, SqliteLedger } from './sqlite-ledger.ts'
import { MOVED_VERSION } from './sqlite-schema.ts'
import { costTables } from './stored-transaction-costs.ts'

export type LedgerFiles = {
  readonly ledger: string
  /** Of payment channels; it may be absent. */
  readonly channels: string
}

export type MovedLedger = {
  readonly payments: number
  /** Sum of all payments, in USDC atoms. */
  readonly amount: bigint
  /** SHA-256 over all payments, equal in both stores. */
  readonly digest: string
  readonly failedSettlements: number
  readonly channels: number
  readonly vouchers: number
}

/** Of payments that were moved, in the column `claim`. */
const MOVED = 'moved'

const payments: MovedTable = {
  from: 'payments',
  to: 'perpscope.payments',
  columns:
    'id network asset payer nonce state route binding payload_hash identifier amount finality transaction_hash payment valid_before_ms begun_ms updated_ms access caller_until_ms'.split(
      ' ',
    ),
  added: { gateway: `'${MOVED}'`, claim: `'${MOVED}'` },
  order: { from: 'id', to: 'id' },
}
const answers: MovedTable = {
  from: 'answers',
  to: 'perpscope.answers',
  columns: 'payment_id status headers body answer_hash expires_ms'.split(' '),
  order: { from: 'payment_id', to: 'payment_id' },
}
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
 * served again. An interrupted move can be repeated.
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
    await checkUnused(db)
    const sum = file.prepare<[], bigint | null>('SELECT sum(amount) FROM payments').pluck()
    const amount = sum.safeIntegers().get() ?? 0n
    const { rows, digest } = await moveTable(file, db, payments)
    await continueIds(db, payments.to)
    await moveTable(file, db, answers)
    await moveTable(file, db, costs)
    const failed = await moveTable(file, db, failedSettlements)
    await continueIds(db, failedSettlements.to)
    const moved = await moveChannels(files.channels, db)
    file.pragma(`user_version = ${MOVED_VERSION}`)
    return { payments: rows, amount, digest, ...moved, failedSettlements: failed.rows }
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
      channels: (await moveTable(file, db, channels)).rows,
      vouchers: (await moveTable(file, db, vouchers)).rows,
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

/** @throws OperatingError unless the ledger is empty, or an interrupted move wrote all that it has */
async function checkUnused(db: Postgres): Promise<void> {
  const [found] = await db.query<{ others: bigint; gateways: bigint }>(`
    SELECT count(*) FILTER (WHERE claim <> '${MOVED}') AS others,
        (SELECT count(*) FROM perpscope.gateways WHERE seen > now() - interval '15 s') AS gateways
      FROM perpscope.payments`)
  if (found === undefined || found.others > 0n || found.gateways > 0n)
    throw new OperatingError(
      'ledger_in_use',
      'the ledger in this database has payments of its own or a gateway at work: move into an empty one, before the first gateway starts',
    )
}
