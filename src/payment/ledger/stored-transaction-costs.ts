import type { SqlQuery } from './postgres.ts'
import type { PostgresTables } from './postgres-schema.ts'
import type { TransactionCost, TransactionCosts } from './transaction-costs.ts'

/** Earlier versions of perpscope neither read nor miss this table, so it belongs to no schema version. */
export const costTable = `
CREATE TABLE IF NOT EXISTS transaction_costs (
  network TEXT NOT NULL,
  transaction_hash TEXT NOT NULL,
  purpose TEXT NOT NULL CHECK (purpose IN ('settlement', 'channel')),
  payments INTEGER NOT NULL,
  fee INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  PRIMARY KEY (network, transaction_hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS transaction_costs_time ON transaction_costs (at_ms);
`

export const costTables: PostgresTables = {
  name: 'transaction_costs',
  scripts: [
    `CREATE TABLE perpscope.transaction_costs (
       network text NOT NULL,
       transaction_hash text NOT NULL,
       purpose text NOT NULL CHECK (purpose IN ('settlement', 'channel')),
       payments int NOT NULL,
       fee numeric(39) NOT NULL,
       at_ms bigint NOT NULL,
       PRIMARY KEY (network, transaction_hash)
     );
     CREATE INDEX transaction_costs_time ON perpscope.transaction_costs (at_ms);`,
  ],
}

/** Fees of the transactions of all gateways, stored with their ledger. */
export class StoredTransactionCosts implements TransactionCosts {
  readonly #query: SqlQuery

  constructor(query: SqlQuery) {
    this.#query = query
  }

  record({ network, transaction, purpose, payments, fee }: TransactionCost, nowMs: number): void {
    this.#query(
      `INSERT INTO perpscope.transaction_costs (network, transaction_hash, purpose, payments, fee, at_ms)
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`,
      [network, transaction, purpose, payments, fee, nowMs],
    )
      // A full or locked disk, or no server: the fee is reported as unknown.
      .catch(() => undefined)
  }
}
