import type { Postgres } from './postgres.ts'
import type { PostgresTables } from './postgres-schema.ts'
import type { TransactionCost, TransactionCosts } from './transaction-costs.ts'

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

/** Fees of the transactions of all gateways, in the database of their ledger. */
export class PostgresTransactionCosts implements TransactionCosts {
  readonly #db: Postgres

  /** @param db with the tables of the ledger */
  constructor(db: Postgres) {
    this.#db = db
  }

  record({ network, transaction, purpose, payments, fee }: TransactionCost, nowMs: number): void {
    this.#db
      .query(
        `INSERT INTO perpscope.transaction_costs VALUES ($1, $2, $3, $4, $5::numeric, $6)
           ON CONFLICT DO NOTHING`,
        [network, transaction, purpose, payments, fee.toString(), nowMs],
      )
      // The fee is reported as unknown.
      .catch(() => undefined)
  }
}
