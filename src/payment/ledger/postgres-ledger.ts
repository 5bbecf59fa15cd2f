import assert from 'node:assert/strict'
import type { PaymentPayload } from '@x402/core/types'
import type { Clock } from '../../domain/clock.ts'
import { reasonOf } from '../../domain/errors.ts'
import type { Finality } from '../finality.ts'
import { failedSettlementTables, StoredFailedSettlements } from '../stored-failed-settlements.ts'
import type { Difference, Gateway, SharedSettings } from './agreement.ts'
import { differencesOf } from './agreement.ts'
import type {
  Begun,
  Entry,
  Ledger,
  LedgerCounts,
  LedgerRetention,
  LedgerRow,
  NotFollowedUp,
  OpenPayment,
  OpenRow,
  PaymentKey,
  PaymentState,
} from './ledger.ts'
import {
  ANSWER_BYTES_MAX,
  allFollowedUp,
  grantedFinality,
  isReusable,
  LedgerBusyError,
  OPEN_KEPT_MS,
  RELEASED_KEPT_MS,
  retentionByDefault,
  SETTLING_MS_MAX,
} from './ledger.ts'
import type { Postgres, SqlQuery } from './postgres.ts'
import { PostgresUnavailableError, violates } from './postgres.ts'
import { ledgerTables } from './postgres-ledger-tables.ts'
import { migrateTables } from './postgres-schema.ts'
import { postgresSummary } from './postgres-summary.ts'
import type { SalesSummary } from './sales-summary.ts'
import type { StoredRow } from './stored-row.ts'
import { accessColumn, answerHash, ledgerRowOf } from './stored-row.ts'
import { costTables, StoredTransactionCosts } from './stored-transaction-costs.ts'

export type PostgresLedgerOptions = {
  /** Closed by the caller. */
  readonly db: Postgres
  readonly clock: Clock
  /** Of this process; another one after each start. */
  readonly gateway: string
  readonly retention?: LedgerRetention
}

/** Of `pg_advisory_xact_lock`. */
const [EXPOSURE_LOCK, AGREEMENT_LOCK, SWEEP_LOCK] = [7_402_002, 7_402_003, 7_402_004]
const HEARTBEAT_MS = 3_000
const SETTLED_PAYERS_MAX = 10_000
/** A gateway that was not seen for this long has ended. By the clock of the database. */
const GATEWAY_DEAD = `interval '15 s'`
const HELD_FOR = `interval '${SETTLING_MS_MAX} ms'`

const byKey = 'network = $1 AND asset = $2 AND payer = $3 AND nonce = $4'
const isAlive = `EXISTS (SELECT FROM perpscope.gateways g
  WHERE g.id = p.gateway AND g.seen > now() - ${GATEWAY_DEAD})`

/**
 * The ledger in PostgreSQL, for any number of gateways. `begin` is the claim: one INSERT against the unique key,
 * committed before money moves. Who follows a payment up holds its row by the clock of the database, so a gateway that
 * froze cannot undo what another one found out.
 */
export class PostgresLedger implements Ledger {
  readonly failures: StoredFailedSettlements
  readonly costs: StoredTransactionCosts
  readonly #db: Postgres
  readonly #gateway: string
  readonly #clock: Clock
  /** Payers with a settled payment, which stays settled; the oldest first. */
  readonly #settledPayers = new Set<string>()
  readonly #retention: LedgerRetention
  #settings: SharedSettings = {}
  #claims = 0
  #stopHeartbeat = () => {}
  #isClosed = false
  readonly #registrations = new Set<Promise<unknown>>()

  private constructor({ db, clock, gateway, retention }: PostgresLedgerOptions) {
    this.#retention = retention ?? retentionByDefault
    this.failures = StoredFailedSettlements.inPostgres(db)
    this.costs = new StoredTransactionCosts(db.query)
    this.#db = db
    this.#clock = clock
    this.#gateway = gateway
  }

  /** @throws OperatingError without the server, and for tables of a later version */
  static async open(options: PostgresLedgerOptions): Promise<PostgresLedger> {
    for (const tables of [ledgerTables, failedSettlementTables, costTables])
      await migrateTables(options.db, tables)
    return new PostgresLedger(options)
  }

  /**
   * Registers this gateway among those that are alive and agree with it. Call it before the first sale.
   * @returns the differences, with which it is not registered
   */
  async join(settings: SharedSettings): Promise<readonly Difference[]> {
    const differences = await this.#registering(() =>
      this.#db.transaction(async (query) => {
        await query('SELECT pg_advisory_xact_lock($1)', [AGREEMENT_LOCK])
        const alive = await query<Gateway>(
          `SELECT id, settings FROM perpscope.gateways
             WHERE id <> $1 AND seen > now() - ${GATEWAY_DEAD} ORDER BY id`,
          [this.#gateway],
        )
        const found = differencesOf(settings, alive)
        if (found.length === 0) await this.#beat(query, settings)
        return found
      }),
    )
    if (differences.length > 0 || this.#isClosed) return differences
    this.#settings = settings
    this.#stopHeartbeat()
    this.#stopHeartbeat = this.#clock.every(HEARTBEAT_MS, () => {
      // A missed heartbeat is harmless; `writeFault` reports a lasting failure.
      this.#heartbeat().catch(() => {})
    })
    return []
  }

  async find(key: PaymentKey): Promise<LedgerRow | null> {
    const [row] = await this.#ask<StoredRow>(
      `SELECT state, binding, payload_hash, transaction_hash, access,
           caller_until_ms::float8 AS caller_until_ms, status, headers, body, answer_hash
         FROM perpscope.payments LEFT JOIN perpscope.answers ON payment_id = id WHERE ${byKey}`,
      keyOf(key),
    )
    return row === undefined ? null : ledgerRowOf(row, key.nonce)
  }

  async findByIdentifier(payer: string, identifier: string): Promise<PaymentKey | null> {
    const [row] = await this.#ask<PaymentKey>(
      `SELECT network, asset, payer, nonce FROM perpscope.payments
         WHERE payer = $1 AND identifier = $2 AND state NOT IN ('released', 'lost')`,
      [payer, identifier],
    )
    return row ?? null
  }

  async begin(entry: Entry, nowMs: number): Promise<Begun> {
    assert(entry.answer.body.length <= ANSWER_BYTES_MAX, 'a stored answer is at most 4 MiB')
    this.#claims += 1
    const claim = `${this.#gateway}/${this.#claims}`
    try {
      return await (entry.finality === 'broadcast'
        ? this.#db.transaction((query) => this.#beginWithin(query, entry, claim, nowMs))
        : this.#begin(this.#db.query, entry, claim, nowMs))
    } catch (cause) {
      if (violates(cause, 'payments_identifier')) return this.#refusal(entry.key)
      if (!(cause instanceof PostgresUnavailableError)) throw cause
      const begun = cause.mayBeDone ? await this.#readBack(entry.key, claim) : null
      if (begun === null) throw unreachable(cause)
      return begun
    }
  }

  async move(
    key: PaymentKey,
    state: Exclude<PaymentState, 'settling'>,
    transaction: string | null,
    nowMs: number,
  ): Promise<void> {
    try {
      await this.#move(key, state, transaction, nowMs)
    } catch (cause) {
      if (!violates(cause, 'payments_identifier')) throw cause
      // A refused payment was paid after all, and another one has its identifier by now.
      await this.#ask(`UPDATE perpscope.payments SET identifier = NULL WHERE ${byKey}`, keyOf(key))
      await this.#move(key, state, transaction, nowMs)
    }
  }

  async admitCaller(key: PaymentKey, untilMs: number): Promise<void> {
    await this.#ask(
      `WITH ${relaxed} UPDATE perpscope.payments SET caller_until_ms = $5 FROM relaxed
         WHERE ${byKey}`,
      [...keyOf(key), untilMs],
    )
  }

  /** Of gateways that have ended, and those that take too long. */
  async interrupted(): Promise<void> {
    await this.#ask(
      `UPDATE perpscope.payments p SET state = 'unknown', finality = 'confirmed', held_until = NULL
         WHERE state = 'settling' AND (held_until < now() OR NOT ${isAlive})`,
    )
  }

  async takeOver(key: PaymentKey): Promise<boolean> {
    const taken = await this.#ask(
      `UPDATE perpscope.payments p SET gateway = $5, held_until = now() + ${HELD_FOR}
         WHERE ${byKey} AND state IN ('settling', 'unknown')
           AND (gateway = $5 OR held_until IS NULL OR held_until < now() OR NOT ${isAlive})
         RETURNING id`,
      [...keyOf(key), this.#gateway],
    )
    return taken.length > 0
  }

  async nextOpen(
    untouchedSinceMs: number,
    nowMs: number,
    { networks, validBeforeMs }: NotFollowedUp = allFollowedUp,
  ): Promise<OpenPayment | null> {
    const [row] = await this.#ask<OpenRow>(
      `UPDATE perpscope.payments SET updated_ms = $2, gateway = $3,
           held_until = now() + ${HELD_FOR}
         WHERE id = (SELECT id FROM perpscope.payments
           WHERE state IN ('unknown', 'unconfirmed') AND payment IS NOT NULL AND updated_ms <= $1
             AND (held_until IS NULL OR held_until < now())
             AND (valid_before_ms >= $4 OR network <> ALL ($5::text[]))
           ORDER BY updated_ms LIMIT 1 FOR UPDATE SKIP LOCKED)
         RETURNING network, asset, payer, nonce, state, begun_ms::float8 AS "begunMs", route,
           transaction_hash AS "transaction", payment`,
      [untouchedSinceMs, nowMs, this.#gateway, validBeforeMs, networks],
    )
    if (row === undefined) return null
    const { state, begunMs, route, transaction, payment, ...key } = row
    return { key, state, begunMs, route, transaction, wire: JSON.parse(payment) as PaymentPayload }
  }

  async exposure(): Promise<bigint> {
    const [row] = await this.#ask<{ total: bigint }>(
      `SELECT coalesce(sum(amount), 0)::int8 AS total FROM perpscope.payments WHERE ${isExposed}`,
    )
    return row?.total ?? 0n
  }

  async hasSettled(payer: string): Promise<boolean> {
    if (this.#settledPayers.has(payer)) return true
    if (!(await this.#has(payer, 'settled'))) return false
    const [oldest] = this.#settledPayers
    if (oldest !== undefined && this.#settledPayers.size >= SETTLED_PAYERS_MAX)
      this.#settledPayers.delete(oldest)
    this.#settledPayers.add(payer)
    return true
  }

  hasLost(payer: string): Promise<boolean> {
    return this.#has(payer, 'lost')
  }

  /** One gateway at a time. @returns 0 while another one works */
  sweep(nowMs: number, rowsMax: number): Promise<number> {
    return busyWhileAway(
      this.#db.transaction(async (query) => {
        const [lock] = await query<{ free: boolean }>(
          'SELECT pg_try_advisory_xact_lock($1) AS free',
          [SWEEP_LOCK],
        )
        if (lock?.free !== true) return 0
        const answers = await query(
          `DELETE FROM perpscope.answers WHERE payment_id IN
             (SELECT payment_id FROM perpscope.answers WHERE expires_ms < $1
               ORDER BY expires_ms LIMIT $2) RETURNING payment_id`,
          [nowMs, rowsMax],
        )
        const released = await query(
          `DELETE FROM perpscope.payments WHERE id IN
             (SELECT id FROM perpscope.payments WHERE state = 'released' AND updated_ms < $1
               LIMIT $2 FOR UPDATE SKIP LOCKED) AND state = 'released' RETURNING id`,
          [nowMs - RELEASED_KEPT_MS, rowsMax],
        )
        const failures = await this.failures.sweep(nowMs, rowsMax, query)
        const finished = await this.#sweepFinished(query, nowMs, rowsMax)
        return Math.max(answers.length, released.length, failures, finished)
      }),
    )
  }

  async #sweepFinished(query: SqlQuery, nowMs: number, rowsMax: number): Promise<number> {
    const { paymentsMs } = this.#retention
    if (paymentsMs === null) return 0
    const finished = await query(
      `DELETE FROM perpscope.payments WHERE id IN
         (SELECT id FROM perpscope.payments p WHERE state IN ('settled', 'lost') AND updated_ms < $1
           AND NOT EXISTS (SELECT FROM perpscope.answers WHERE payment_id = p.id)
           LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING id`,
      [nowMs - paymentsMs, rowsMax],
    )
    return finished.length
  }

  async writeFault(): Promise<string | null> {
    try {
      await this.#heartbeat()
      return null
    } catch (cause) {
      return `the ledger cannot be written: ${reasonOf(cause)}`
    }
  }

  async counts(): Promise<LedgerCounts> {
    const rows = await this.#ask<{ state: PaymentState; rows: number }>(
      'SELECT state, count(*)::float8 AS rows FROM perpscope.payments GROUP BY state',
    )
    const none = { settling: 0, unknown: 0, unconfirmed: 0, settled: 0, released: 0, lost: 0 }
    return { ...none, ...Object.fromEntries(rows.map(({ state, rows: count }) => [state, count])) }
  }

  summary(sinceMs: number, nowMs: number): Promise<SalesSummary> {
    return busyWhileAway(postgresSummary(this.#db.query, sinceMs, nowMs))
  }

  /** Others take over the open payments of this gateway at once. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#stopHeartbeat()
    // One in progress, on another connection, could be committed after the removal.
    await Promise.allSettled(this.#registrations)
    try {
      await this.#db.query('DELETE FROM perpscope.gateways WHERE id = $1', [this.#gateway])
    } catch (cause) {
      // Without the server they find out by the missing heartbeat.
      if (!(cause instanceof PostgresUnavailableError)) throw cause
    }
  }

  /** One gateway at a time, so that two cannot exceed a limit together. */
  async #beginWithin(query: SqlQuery, entry: Entry, claim: string, nowMs: number): Promise<Begun> {
    await query('SELECT pg_advisory_xact_lock($1)', [EXPOSURE_LOCK])
    const [owed] = await query<{ payer: bigint; total: bigint }>(
      `SELECT coalesce(sum(amount) FILTER (WHERE payer = $1), 0)::int8 AS payer,
           coalesce(sum(amount), 0)::int8 AS total
         FROM perpscope.payments WHERE ${isExposed}`,
      [entry.key.payer],
    )
    assert(owed !== undefined, 'a sum is one row')
    return this.#begin(query, { ...entry, finality: grantedFinality(entry, owed) }, claim, nowMs)
  }

  async #begin(query: SqlQuery, entry: Entry, claim: string, nowMs: number): Promise<Begun> {
    const { key, access, answer, finality, validBeforeSeconds } = entry
    const headers = JSON.stringify(answer.headers)
    const validBeforeMs = validBeforeSeconds * 1_000
    const begun = await query(beginStatement, [
      ...keyOf(key),
      ...[entry.route, entry.binding, entry.payloadHash, entry.identifier, entry.amount, finality],
      ...[JSON.stringify(entry.wire), validBeforeMs, nowMs],
      ...[accessColumn(access), access.callerUntilMs, this.#gateway, claim],
      ...[answer.status, headers, answer.body, answerHash(headers, answer.body)],
      validBeforeMs + OPEN_KEPT_MS,
    ])
    return begun.length === 0 ? { kind: 'taken' } : { kind: 'begun', finality }
  }

  /** A copy of the payment can violate the index of its own identifier before its key. */
  async #refusal(key: PaymentKey): Promise<Begun> {
    const [row] = await this.#ask<{ state: PaymentState }>(
      `SELECT state FROM perpscope.payments WHERE ${byKey}`,
      keyOf(key),
    )
    return row === undefined || isReusable(row.state)
      ? { kind: 'identifier_taken' }
      : { kind: 'taken' }
  }

  /** Whether a `begin` was committed whose reply was lost. @returns null if it was not */
  async #readBack(key: PaymentKey, claim: string): Promise<Begun | null> {
    const [row] = await this.#ask<{ finality: Finality }>(
      `SELECT finality FROM perpscope.payments WHERE ${byKey} AND claim = $5 AND state = 'settling'`,
      [...keyOf(key), claim],
    )
    return row === undefined ? null : { kind: 'begun', finality: row.finality }
  }

  /** A gateway that no longer holds the payment may only report that it is paid. */
  async #move(
    key: PaymentKey,
    state: PaymentState,
    transaction: string | null,
    nowMs: number,
  ): Promise<void> {
    const isOpen = state === 'unknown' || state === 'unconfirmed'
    await this.#ask(moveStatement, [
      ...keyOf(key),
      ...[state, transaction, nowMs, isOpen, this.#gateway],
      // Repeated follow-ups of an open payment do not extend its time.
      ...[isOpen ? 0 : nowMs, OPEN_KEPT_MS, this.#retention.answersMs],
    ])
  }

  async #has(payer: string, state: PaymentState): Promise<boolean> {
    const rows = await this.#ask(
      'SELECT 1 FROM perpscope.payments WHERE payer = $1 AND state = $2 LIMIT 1',
      [payer, state],
    )
    return rows.length > 0
  }

  #heartbeat(): Promise<void> {
    return this.#registering(() => this.#beat(this.#db.query, this.#settings))
  }

  async #registering<T>(work: () => Promise<T>): Promise<T> {
    const registration = work()
    this.#registrations.add(registration)
    try {
      return await registration
    } finally {
      this.#registrations.delete(registration)
    }
  }

  async #beat(query: SqlQuery, settings: SharedSettings): Promise<void> {
    if (this.#isClosed) return
    await query(
      `INSERT INTO perpscope.gateways VALUES ($1, now(), $2)
         ON CONFLICT (id) DO UPDATE SET seen = now(), settings = excluded.settings`,
      [this.#gateway, JSON.stringify(settings)],
    )
  }

  #ask<Row>(text: string, values?: readonly unknown[]): Promise<readonly Row[]> {
    return busyWhileAway(this.#db.query<Row>(text, values))
  }
}

/** @throws LedgerBusyError while PostgreSQL is not available */
export async function busyWhileAway<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (cause) {
    throw cause instanceof PostgresUnavailableError ? unreachable(cause) : cause
  }
}

const isExposed = `finality = 'broadcast' AND state IN ('settling', 'unconfirmed')`

/** A crash of the server may undo this transaction, because the chain has the same information. */
const relaxed = `relaxed AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))`

/** A server with `synchronous_commit = off` would lose the claim in a crash, after money moved. */
const durable = `durable AS MATERIALIZED (SELECT set_config('synchronous_commit',
  CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on'
    ELSE current_setting('synchronous_commit') END, true))`

const beginStatement = `
WITH ${durable}, begun AS (
  INSERT INTO perpscope.payments AS p (network, asset, payer, nonce, state, route, binding,
      payload_hash, identifier, amount, finality, payment, valid_before_ms, begun_ms, updated_ms,
      access, caller_until_ms, gateway, claim, held_until)
    SELECT $1, $2, $3, $4, 'settling', $5, $6, $7, $8::text, $9::int8, $10, $11, $12::int8,
      $13::int8, $13::int8, $14, $15::int8, $16, $17, now() + ${HELD_FOR} FROM durable
    ON CONFLICT ON CONSTRAINT payments_key DO UPDATE SET state = 'settling',
      route = excluded.route, binding = excluded.binding, payload_hash = excluded.payload_hash,
      identifier = excluded.identifier, amount = excluded.amount, finality = excluded.finality,
      transaction_hash = NULL, payment = excluded.payment,
      valid_before_ms = excluded.valid_before_ms, begun_ms = excluded.begun_ms,
      updated_ms = excluded.updated_ms, access = excluded.access,
      caller_until_ms = excluded.caller_until_ms, gateway = excluded.gateway,
      claim = excluded.claim, held_until = excluded.held_until
    WHERE p.state IN ('released', 'lost') RETURNING id)
INSERT INTO perpscope.answers SELECT id, $18::int, $19, $20::bytea, $21::bytea, $22::int8 FROM begun
  ON CONFLICT (payment_id) DO UPDATE SET status = excluded.status, headers = excluded.headers,
    body = excluded.body, answer_hash = excluded.answer_hash, expires_ms = excluded.expires_ms
  RETURNING payment_id`

const moveStatement = `
WITH ${relaxed}, before AS (
  SELECT id, state, valid_before_ms FROM perpscope.payments, relaxed
    WHERE ${byKey} AND state <> 'settled'
      AND (gateway = $9 OR $5::text IN ('settled', 'unconfirmed'))
    FOR UPDATE OF payments),
moved AS (
  UPDATE perpscope.payments p SET state = $5, updated_ms = $7::int8, held_until = NULL,
    finality = CASE WHEN $5 = 'unknown' THEN 'confirmed' ELSE p.finality END,
    transaction_hash = coalesce(nullif($6::text, ''), transaction_hash, $6),
    payment = CASE WHEN $8::bool THEN payment END
    FROM before WHERE p.id = before.id),
removed AS (
  DELETE FROM perpscope.answers USING before WHERE payment_id = before.id AND $5 = 'released')
UPDATE perpscope.answers SET expires_ms = greatest(before.valid_before_ms, $10::int8) +
    CASE WHEN $8 OR before.state = 'unknown' THEN $11::int8 ELSE $12::int8 END
  FROM before WHERE payment_id = before.id AND $5 <> 'released'`

function keyOf({ network, asset, payer, nonce }: PaymentKey): readonly string[] {
  return [network, asset, payer, nonce]
}

function unreachable(cause: PostgresUnavailableError): LedgerBusyError {
  return new LedgerBusyError('the payment ledger in PostgreSQL cannot be reached', cause.cause)
}
