import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import Database from 'better-sqlite3'
import { OperatingError } from '../domain/errors.ts'
import type { Answer } from './answer.ts'

/** Names a payment: no chain settles the same four twice. */
export type PaymentKey = {
  readonly network: string
  readonly asset: string
  readonly payer: string
  readonly nonce: string
}

/**
 * `settling`: the answer is durable and a settlement was begun; after a crash its outcome is open.
 * `unknown`: the settlement ended without a verdict. `settled`: paid, the answer may be sent at will.
 * `released`: the settlement was refused; the payment may be tried again as if it had never come.
 * (Claims without an answer have nothing to lose in a crash and live in memory: see `claims.ts`.)
 */
export type PaymentState = 'settling' | 'unknown' | 'settled' | 'released'

export type Entry = {
  readonly key: PaymentKey
  /** What was bought: see `binding` in `resource.ts`. */
  readonly binding: string
  readonly payloadHash: string
  readonly amount: bigint
  readonly validBeforeSeconds: number
  readonly answer: Answer
}

export type LedgerRow = {
  readonly state: PaymentState
  readonly binding: string
  readonly payloadHash: string
  readonly transaction: string | null
  readonly answer: Answer
}

export type LedgerCounts = Readonly<Record<PaymentState, number>>

const SCHEMA_VERSION = 1
/** A paid answer is sent again until this long after its authorization ran out. */
const ANSWER_KEPT_MS = 10 * 60_000
/** An open outcome is kept longer: it may be a payment without an answer. */
const OPEN_KEPT_MS = 7 * 86_400_000
/** A predecessor that is just exiting may still hold the lock. */
const LOCK_WAIT_MS_MAX = 500
const ANSWER_BYTES_MAX = 4 * 1_024 * 1_024

const schema = `
CREATE TABLE payments (
  network TEXT NOT NULL,
  asset TEXT NOT NULL,
  payer TEXT NOT NULL,
  nonce TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('settling', 'unknown', 'settled', 'released')),
  binding TEXT NOT NULL,
  payload_hash TEXT NOT NULL,
  amount TEXT NOT NULL,
  transaction_hash TEXT,
  status INTEGER NOT NULL,
  headers TEXT NOT NULL,
  body BLOB NOT NULL,
  answer_hash BLOB NOT NULL,
  valid_before_ms INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  PRIMARY KEY (network, asset, payer, nonce)
) STRICT;
CREATE INDEX payments_expiry ON payments (expires_ms);
`

type Row = {
  readonly state: PaymentState
  readonly binding: string
  readonly payload_hash: string
  readonly transaction_hash: string | null
  readonly status: number
  readonly headers: string
  readonly body: Buffer
  readonly answer_hash: Buffer
}

/**
 * Payments and the answers that they bought, on disk before any money moves. One file, one process: the
 * lock is exclusive, so a second service on the same file does not start.
 */
export class PaymentLedger {
  readonly #db: Database.Database
  readonly #find: Database.Statement<[PaymentKey], Row>
  readonly #begin: Database.Statement<[Record<string, unknown>]>
  readonly #move: Database.Statement<[Record<string, unknown>]>
  readonly #sweep: Database.Statement<[number, number]>
  readonly #count: Database.Statement<[], { state: PaymentState; rows: number }>

  /** @param path of the file, or `:memory:`. @throws OperatingError when it cannot be trusted */
  constructor(path: string) {
    this.#db = openDatabase(path)
    const byKey = 'network = @network AND asset = @asset AND payer = @payer AND nonce = @nonce'
    this.#find = this.#db.prepare(`SELECT * FROM payments WHERE ${byKey}`)
    this.#begin = this.#db.prepare(`
      INSERT INTO payments VALUES (@network, @asset, @payer, @nonce, 'settling', @binding,
        @payloadHash, @amount, NULL, @status, @headers, @body, @answerHash, @validBeforeMs,
        @validBeforeMs + ${OPEN_KEPT_MS}, @nowMs)
      ON CONFLICT DO UPDATE SET state = 'settling', binding = excluded.binding,
        payload_hash = excluded.payload_hash, amount = excluded.amount, transaction_hash = NULL,
        status = excluded.status, headers = excluded.headers, body = excluded.body,
        answer_hash = excluded.answer_hash, valid_before_ms = excluded.valid_before_ms,
        expires_ms = excluded.expires_ms, updated_ms = excluded.updated_ms
      WHERE state = 'released'`)
    this.#move = this.#db.prepare(`
      UPDATE payments SET state = @state, updated_ms = @nowMs,
        transaction_hash = coalesce(@transaction, transaction_hash),
        expires_ms = valid_before_ms + @keptMs
      WHERE ${byKey} AND state <> 'settled'`)
    this.#sweep = this.#db.prepare(`
      DELETE FROM payments WHERE rowid IN
        (SELECT rowid FROM payments WHERE expires_ms < ? ORDER BY expires_ms LIMIT ?)`)
    this.#count = this.#db.prepare('SELECT state, count(*) AS rows FROM payments GROUP BY state')
  }

  /** @throws OperatingError when the stored bytes are not those that were written */
  find(key: PaymentKey): LedgerRow | null {
    const row = this.#find.get(key)
    if (row === undefined) return null
    if (!answerHash(row.headers, row.body).equals(row.answer_hash)) {
      throw new OperatingError('ledger_corrupt', `the stored answer of ${key.nonce} is damaged`)
    }
    return {
      state: row.state,
      binding: row.binding,
      payloadHash: row.payload_hash,
      transaction: row.transaction_hash,
      answer: { status: row.status, headers: JSON.parse(row.headers), body: row.body },
    }
  }

  /** Makes the answer durable, as the last thing before the settlement. */
  begin(entry: Entry, nowMs: number): void {
    const { key, answer, validBeforeSeconds } = entry
    assert(answer.body.length <= ANSWER_BYTES_MAX, 'a stored answer is at most 4 MiB')
    const headers = JSON.stringify(answer.headers)
    const { changes } = this.#begin.run({
      ...key,
      binding: entry.binding,
      payloadHash: entry.payloadHash,
      amount: entry.amount.toString(),
      status: answer.status,
      headers,
      body: answer.body,
      answerHash: answerHash(headers, answer.body),
      validBeforeMs: validBeforeSeconds * 1_000,
      nowMs,
    })
    assert(changes === 1, 'a payment is settled once: its row is new or was released')
  }

  /** `settled` is final: a later verdict that contradicts it changes nothing. */
  move(
    key: PaymentKey,
    state: Exclude<PaymentState, 'settling'>,
    transaction: string | null,
    nowMs: number,
  ): void {
    const keptMs = state === 'unknown' ? OPEN_KEPT_MS : ANSWER_KEPT_MS
    this.#move.run({ ...key, state, transaction, keptMs, nowMs })
  }

  /** Removes up to `rowsMax` rows whose time is over. @returns how many they were */
  sweep(nowMs: number, rowsMax: number): number {
    return this.#sweep.run(nowMs, rowsMax).changes
  }

  counts(): LedgerCounts {
    const counts = { settling: 0, unknown: 0, settled: 0, released: 0 }
    for (const { state, rows } of this.#count.iterate()) counts[state] = rows
    return counts
  }

  close(): void {
    this.#db.close()
  }
}

function openDatabase(path: string): Database.Database {
  const db = new Database(path, { timeout: LOCK_WAIT_MS_MAX })
  try {
    db.pragma('locking_mode = EXCLUSIVE')
    db.pragma('journal_mode = WAL')
    // An acknowledged row survives a power cut; measured at 0.2 ms an insert (reliability page, 2.2).
    db.pragma('synchronous = FULL')
    const verdict = db.pragma('quick_check', { simple: true })
    if (verdict !== 'ok') throw new OperatingError('ledger_corrupt', `${path}: ${String(verdict)}`)
    const version = db.pragma('user_version', { simple: true })
    if (version === 0) {
      db.transaction(() => {
        db.exec(schema)
        db.pragma(`user_version = ${SCHEMA_VERSION}`)
      })()
    } else if (version !== SCHEMA_VERSION) {
      throw new OperatingError('ledger_version', `${path} has schema ${String(version)}`)
    }
    return db
  } catch (cause) {
    db.close()
    throw cause instanceof OperatingError
      ? cause
      : new OperatingError('ledger_unusable', `the payment ledger ${path} cannot be used`, {
          cause,
        })
  }
}

function answerHash(headers: string, body: Buffer): Buffer {
  return createHash('sha256').update(headers).update(body).digest()
}
