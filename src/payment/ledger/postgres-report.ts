import { OperatingError } from '../../domain/errors.ts'
import type { ReportedPayment, ReportLine, ReportRange } from './ledger-report.ts'
import type { Postgres } from './postgres.ts'
import { ledgerTables } from './postgres-ledger-tables.ts'

const PAGE_ROWS = 1_000

/** Read-only view of the ledger in PostgreSQL for operators, also while gateways write it. */
export class PostgresReport {
  readonly #db: Postgres

  private constructor(db: Postgres) {
    this.#db = db
  }

  /** @throws OperatingError without a ledger of this version */
  static async open(db: Postgres): Promise<PostgresReport> {
    const [table] = await db.query<{ found: boolean }>(
      `SELECT to_regclass('perpscope.versions') IS NOT NULL AS found`,
    )
    const versions = table?.found
      ? await db.query<{ version: number }>(
          'SELECT version FROM perpscope.versions WHERE name = $1',
          [ledgerTables.name],
        )
      : []
    const version = versions[0]?.version
    if (version === undefined)
      throw new OperatingError('ledger_absent', 'there is no payment ledger in this database yet')
    const known = ledgerTables.scripts.length
    if (version !== known)
      throw new OperatingError(
        'ledger_version',
        `the ledger has schema ${version}; this version of perpscope reads ${known}. perpscope serve migrates older ledgers.`,
      )
    return new PostgresReport(db)
  }

  lines({ sinceMs, untilMs }: ReportRange): Promise<readonly ReportLine[]> {
    return this.#db.query<ReportLine>(
      `SELECT to_char(to_timestamp(begun_ms / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day,
           route COLLATE "C" AS route, network COLLATE "C" AS network, state COLLATE "C" AS state,
           count(*)::float8 AS payments, sum(amount)::float8 AS "amountAtomic"
         FROM perpscope.payments WHERE begun_ms >= $1 AND begun_ms < $2
         GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`,
      [sinceMs, untilMs],
    )
  }

  /** In pages, because a year of payments may not fit into memory. */
  async *payments({ sinceMs, untilMs }: ReportRange): AsyncGenerator<ReportedPayment> {
    let after: readonly [number, bigint] = [sinceMs, -1n]
    for (;;) {
      const rows = await this.#db.query<ReportedPayment & { readonly id: bigint }>(
        `SELECT id, begun_ms::float8 AS "begunMs", route, network, asset, payer, nonce,
             amount::float8 AS "amountAtomic", finality, state, transaction_hash AS transaction
           FROM perpscope.payments
           WHERE (begun_ms, id) > ($1::int8, $2::int8) AND begun_ms < $3
           ORDER BY begun_ms, id LIMIT ${PAGE_ROWS}`,
        [...after, untilMs],
      )
      for (const { id, ...payment } of rows) yield payment
      const last = rows.at(-1)
      if (last === undefined || rows.length < PAGE_ROWS) return
      after = [last.begunMs, last.id]
    }
  }
}
