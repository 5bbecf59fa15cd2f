import type Database from 'better-sqlite3'
import { costTable } from './stored-transaction-costs.ts'

export const SCHEMA_VERSION = 3
/** Marks a file whose payments were moved to PostgreSQL; every version of perpscope refuses it. */
export const MOVED_VERSION = 1_000_000

/**
 * An answer is deleted when its access ends, a signed payment when the outcome is known, and a row of `payments` as the
 * retention of its state requires.
 */
const tables = `
CREATE TABLE payments (
  id INTEGER PRIMARY KEY,
  network TEXT NOT NULL,
  asset TEXT NOT NULL,
  payer TEXT NOT NULL,
  nonce TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN
    ('settling', 'unknown', 'unconfirmed', 'settled', 'released', 'lost')),
  route TEXT NOT NULL,
  binding TEXT NOT NULL,
  payload_hash TEXT NOT NULL,
  identifier TEXT,
  amount INTEGER NOT NULL,
  finality TEXT NOT NULL CHECK (finality IN ('confirmed', 'preconfirmed', 'broadcast')),
  transaction_hash TEXT,
  payment TEXT,
  valid_before_ms INTEGER NOT NULL,
  begun_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  access TEXT,
  caller_until_ms INTEGER NOT NULL DEFAULT 0,
  UNIQUE (network, asset, payer, nonce)
) STRICT;
CREATE INDEX payments_state ON payments (state, updated_ms);
CREATE INDEX payments_payer ON payments (payer, state);
CREATE INDEX payments_identifier ON payments (payer, identifier) WHERE identifier IS NOT NULL;
CREATE TABLE answers (
  payment_id INTEGER PRIMARY KEY REFERENCES payments (id),
  status INTEGER NOT NULL,
  headers TEXT NOT NULL,
  body BLOB NOT NULL,
  answer_hash BLOB NOT NULL,
  expires_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX answers_expiry ON answers (expires_ms);
`

/**
 * Transactions that we paid for and that transferred nothing, and transactions of contract wallets in progress
 * (`in_flight`, with their gas limit). They block payers and bound their cost.
 */
const failedSettlements = `
CREATE TABLE failed_settlements (
  id INTEGER PRIMARY KEY,
  network TEXT NOT NULL,
  payer TEXT NOT NULL,
  code TEXT,
  transaction_hash TEXT,
  state TEXT NOT NULL CHECK (state IN ('in_flight', 'failed')),
  cost INTEGER NOT NULL,
  strikes INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  UNIQUE (network, payer, transaction_hash)
) STRICT;
CREATE INDEX failed_settlements_code ON failed_settlements (network, code) WHERE code IS NOT NULL;
CREATE INDEX failed_settlements_time ON failed_settlements (at_ms);
`

/** Version 1 had one table and deleted a payment with its answer. */
const fromVersion1 = `
ALTER TABLE payments RENAME TO payments_1;
DROP INDEX payments_expiry;
${tables}
INSERT INTO payments (network, asset, payer, nonce, state, route, binding, payload_hash, amount,
    finality, transaction_hash, valid_before_ms, begun_ms, updated_ms)
  SELECT network, asset, payer, nonce, state, coalesce(json_extract(binding, '$[1]'), ''), binding,
    payload_hash, CAST(amount AS INTEGER), 'confirmed', transaction_hash, valid_before_ms,
    updated_ms, updated_ms FROM payments_1;
INSERT INTO answers
  SELECT p.id, o.status, o.headers, o.body, o.answer_hash, o.expires_ms
    FROM payments_1 o JOIN payments p USING (network, asset, payer, nonce)
    WHERE o.state <> 'released';
DROP TABLE payments_1;
`

/** Purchases before version 3 have no access data, so their answers are not sent again. */
const fromVersion2 = `
ALTER TABLE payments ADD COLUMN access TEXT;
ALTER TABLE payments ADD COLUMN caller_until_ms INTEGER NOT NULL DEFAULT 0;
`

/** Migration from each earlier version; 0 is an empty file. */
const scripts: ReadonlyMap<unknown, string> = new Map([
  [0, tables + failedSettlements],
  [1, fromVersion1 + failedSettlements],
  [2, fromVersion2 + failedSettlements],
])

/** Not versioned: older versions of perpscope can use a file with this index. */
const indexOfBegin = 'CREATE INDEX IF NOT EXISTS payments_begun ON payments (begun_ms);'

/**
 * Migrates an empty file or an earlier version.
 * @returns false for a later version
 */
export function migrate(db: Database.Database): boolean {
  const version = db.pragma('user_version', { simple: true })
  const script = scripts.get(version)
  if (version !== SCHEMA_VERSION && script === undefined) return false
  if (script !== undefined)
    db.transaction(() => {
      db.exec(script)
      db.pragma(`user_version = ${SCHEMA_VERSION}`)
    }).immediate()
  db.exec(indexOfBegin + costTable)
  return true
}
