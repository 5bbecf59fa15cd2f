import type Database from 'better-sqlite3'
import type { TransactionCost, TransactionCosts } from './transaction-costs.ts'

/** Earlier versions of perpscope neither read nor miss this table, so it belongs to no schema version. */
export const costsTable = `
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

/** Fees of transactions in the file of the ledger. */
export class SqliteTransactionCosts implements TransactionCosts {
  readonly #insert: Database.Statement<[TransactionCost & { readonly nowMs: number }]>

  /** @param db database of the ledger */
  constructor(db: Database.Database) {
    this.#insert = db.prepare(`
      INSERT INTO transaction_costs (network, transaction_hash, purpose, payments, fee, at_ms)
        VALUES (@network, @transaction, @purpose, @payments, @fee, @nowMs) ON CONFLICT DO NOTHING`)
  }

  record(cost: TransactionCost, nowMs: number): void {
    try {
      this.#insert.run({ ...cost, nowMs })
    } catch {
      // A full or locked disk: the fee is reported as unknown.
    }
  }
}
