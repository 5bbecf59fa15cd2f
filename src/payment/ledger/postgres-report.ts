import { OperatingError } from '../../domain/errors.ts'
import type {
  CostLine,
  GroupedRow,
  LedgerBooks,
  PaymentRow,
  ReportDimension,
  ReportedPayment,
  ReportLine,
  ReportRange,
} from './ledger-books.ts'
import { dimensionsByDefault, groupColumns, mergedLines, reportedPayment } from './ledger-books.ts'
import type { Postgres } from './postgres.ts'
import { ledgerTables } from './postgres-ledger-tables.ts'
import { storedVersions } from './postgres-schema.ts'
import { costTables } from './stored-transaction-costs.ts'

const PAGE_ROWS = 1_000
const DAY = `to_char(to_timestamp(begun_ms / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD')`
/** An empty table of costs, until `serve` has created the real one. */
const NO_COSTS = `(SELECT ''::text AS network, ''::text AS transaction_hash, ''::text AS purpose,
  1 AS payments, 0::numeric AS fee, 0::bigint AS at_ms WHERE false)`
/** Share of a payment in the fee of its transaction. */
const FEE = 'div(c.fee, c.payments)'

/** Sums are numbers of any size, which arrive as text. */
type GroupRow = Pick<GroupedRow, 'values' | 'state'> & {
  readonly amount: string
  readonly fee: string
  readonly payments: bigint
  readonly unknownFees: bigint
}

/** Read-only view of the ledger in PostgreSQL for operators, also while gateways write it. */
export class PostgresReport implements LedgerBooks {
  readonly #db: Postgres
  readonly #costs: string

  private constructor(db: Postgres, costs: string) {
    this.#db = db
    this.#costs = costs
  }

  /** @throws OperatingError without a ledger of this version */
  static async open(db: Postgres): Promise<PostgresReport> {
    const versions = await storedVersions(db)
    const version = versions.get(ledgerTables.name)
    if (version === undefined)
      throw new OperatingError('ledger_absent', 'there is no payment ledger in this database yet')
    const known = ledgerTables.scripts.length
    if (version !== known)
      throw new OperatingError(
        'ledger_version',
        `the ledger has schema ${version}; this version of perpscope reads ${known}. ${version < known ? 'perpscope serve migrates it.' : 'Use a later version.'}`,
      )
    const hasCosts = versions.has(costTables.name)
    return new PostgresReport(db, hasCosts ? 'perpscope.transaction_costs' : NO_COSTS)
  }

  async lines(
    { sinceMs, untilMs }: ReportRange,
    by: readonly ReportDimension[] = dimensionsByDefault,
  ): Promise<readonly ReportLine[]> {
    const columns = by.map((name) => (name === 'day' ? DAY : groupColumns[name]))
    // A nonce with ':' is a voucher of a channel, which has no transaction of its own.
    const rows = await this.#db.query<GroupRow>(
      `SELECT ARRAY[${columns.join(', ')}]::text[] AS values, state, count(*) AS payments,
           sum(amount)::text AS amount, coalesce(sum(${FEE}), 0)::text AS fee,
           count(*) FILTER (WHERE state = 'settled' AND c.fee IS NULL AND strpos(nonce, ':') = 0)
             AS "unknownFees"
         FROM perpscope.payments p ${this.#join} WHERE begun_ms >= $1 AND begun_ms < $2
         GROUP BY ${[...columns, 'state'].join(', ')}`,
      [sinceMs, untilMs],
    )
    return mergedLines(
      rows.map(({ amount, fee, payments, unknownFees, ...row }) => ({
        ...row,
        amount: BigInt(amount),
        fee: BigInt(fee),
        payments: Number(payments),
        unknownFees: Number(unknownFees),
      })),
      by,
    )
  }

  async costs({ sinceMs, untilMs }: ReportRange): Promise<readonly CostLine[]> {
    const rows = await this.#db.query<
      Omit<CostLine, 'fee' | 'transactions'> & {
        readonly fee: string
        readonly transactions: bigint
      }
    >(
      `SELECT to_char(to_timestamp(at_ms / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day,
           network COLLATE "C" AS network, purpose, count(*) AS transactions, sum(fee)::text AS fee
         FROM ${this.#costs} c WHERE at_ms >= $1 AND at_ms < $2
         GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`,
      [sinceMs, untilMs],
    )
    return rows.map((line) => ({
      ...line,
      fee: BigInt(line.fee),
      transactions: Number(line.transactions),
    }))
  }

  /** In pages, because a year of payments may not fit into memory. */
  async *payments({ sinceMs, untilMs }: ReportRange): AsyncGenerator<ReportedPayment> {
    let after: readonly [bigint, bigint] = [BigInt(sinceMs), -1n]
    for (;;) {
      const rows = await this.#db.query<
        Omit<PaymentRow, 'fee'> & { readonly id: bigint; readonly fee: string | null }
      >(
        `SELECT id, begun_ms AS "begunMs", updated_ms AS "updatedMs",
             valid_before_ms AS "validBeforeMs", route, binding, p.network, asset, payer, nonce,
             amount, finality, state, p.transaction_hash AS transaction, (${FEE})::text AS fee,
             expires_ms AS "answerUntilMs", caller_until_ms AS "callerUntilMs"
           FROM perpscope.payments p ${this.#join}
             LEFT JOIN perpscope.answers ON payment_id = id
           WHERE (begun_ms, id) > ($1::int8, $2::int8) AND begun_ms < $3
           ORDER BY begun_ms, id LIMIT ${PAGE_ROWS}`,
        [...after, untilMs],
      )
      for (const { id, fee, ...row } of rows)
        yield reportedPayment({ ...row, fee: fee === null ? null : BigInt(fee) })
      const last = rows.at(-1)
      if (last === undefined || rows.length < PAGE_ROWS) return
      after = [last.begunMs, last.id]
    }
  }

  get #join(): string {
    return `LEFT JOIN ${this.#costs} c
      ON c.network = p.network AND c.transaction_hash = p.transaction_hash AND c.payments > 0`
  }
}
