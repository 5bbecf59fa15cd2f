import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import type { PaymentPayload } from '@x402/core/types'
import Database from 'better-sqlite3'
import { OperatingError } from '../../domain/errors.ts'
import { StoredFailedSettlements } from '../stored-failed-settlements.ts'
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
import type { SalesSummary } from './sales-summary.ts'
import { sqliteQuery } from './sqlite-query.ts'
import { MOVED_VERSION, migrate } from './sqlite-schema.ts'
import { sqliteSummary } from './sqlite-summary.ts'
import type { StoredRow } from './stored-row.ts'
import { accessColumn, answerHash, ledgerRowOf } from './stored-row.ts'
import { StoredTransactionCosts } from './stored-transaction-costs.ts'

/**
 * An exiting predecessor can hold the lock, and another program the file. SQLite blocks the gateway thread while it
 * waits.
 */
const LOCK_WAIT_MS_MAX = 500
/** The longest answer, in the write-ahead log and in the file. */
const ROOM_BYTES_MIN = 2 * ANSWER_BYTES_MAX

type StateRow = { readonly id: number; readonly state: PaymentState }

/** A row that is written together with others. */
type Waiting = {
  readonly entry: Entry
  readonly nowMs: number
  readonly resolve: (begun: Begun) => void
  readonly reject: (cause: unknown) => void
}

/** A row that is written, before its commit. */
type Inserted = { readonly begun: Begun; readonly before: PaymentState | undefined }

/**
 * The ledger in one file with one writing process: a second service on the same file does not start. Readers such as
 * `perpscope ledger` are allowed.
 */
export class SqliteLedger implements Ledger {
  readonly failures: StoredFailedSettlements
  readonly costs: StoredTransactionCosts
  readonly #db: Database.Database
  /** For writes that a power failure may undo, because the chain has the same information. */
  readonly #relaxed: Database.Database
  readonly #lock: Database.Database | null
  readonly #counts: Record<PaymentState, number>
  readonly #statements: ReturnType<typeof statementsOf>
  readonly #moves: ReturnType<typeof movesOf>
  readonly #summary: ReturnType<typeof sqliteSummary>
  readonly #soon: ((task: () => void) => void) | null
  readonly #retention: LedgerRetention
  readonly #waiting: Waiting[] = []
  /** Whether the first call of `interrupted` was made. */
  #isTakenOver = false
  /** Lock wait of the next write. */
  #lockWaitMs = LOCK_WAIT_MS_MAX

  /**
   * @param path of the file, or `:memory:`
   * @param soon if given, rows of one turn share one write
   * @throws OperatingError if the file cannot be used
   */
  constructor(
    path: string,
    soon: ((task: () => void) => void) | null = null,
    retention: LedgerRetention = retentionByDefault,
  ) {
    this.#soon = soon
    this.#retention = retention
    this.#lock = path === ':memory:' ? null : lockLedger(path)
    try {
      this.#db = openDatabase(path)
    } catch (cause) {
      this.#lock?.close()
      throw cause
    }
    this.#relaxed = path === ':memory:' ? this.#db : relaxedConnection(path)
    this.failures = StoredFailedSettlements.inFile(this.#relaxed)
    this.costs = new StoredTransactionCosts(sqliteQuery(this.#relaxed))
    this.#statements = statementsOf(this.#db)
    this.#moves = movesOf(this.#relaxed)
    this.#summary = sqliteSummary(this.#db, async () => {
      if (soon !== null) await new Promise<void>((resolve) => soon(resolve))
    })
    this.#counts = { settling: 0, unknown: 0, unconfirmed: 0, settled: 0, released: 0, lost: 0 }
    for (const { state, rows } of this.#statements.count.iterate()) this.#counts[state] = rows
  }

  async find(key: PaymentKey): Promise<LedgerRow | null> {
    const row = this.#statements.find.get(key)
    return row === undefined ? null : ledgerRowOf(row, key.nonce)
  }

  async findByIdentifier(payer: string, identifier: string): Promise<PaymentKey | null> {
    return this.#statements.identified.get(payer, identifier) ?? null
  }

  /** A `broadcast` is not delayed for a write together with others. */
  async begin(entry: Entry, nowMs: number): Promise<Begun> {
    assert(entry.answer.body.length <= ANSWER_BYTES_MAX, 'a stored answer is at most 4 MiB')
    return this.#soon === null || entry.finality === 'broadcast'
      ? this.#begin(entry, nowMs)
      : this.#together(entry, nowMs, this.#soon)
  }

  #together(entry: Entry, nowMs: number, soon: (task: () => void) => void): Promise<Begun> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ entry, nowMs, resolve, reject })
      if (this.#waiting.length === 1) soon(() => this.#beginAll())
    })
  }

  /** Writes all rows in one transaction. */
  #beginAll(): void {
    const together = this.#waiting.splice(0)
    let inserted: Inserted[]
    try {
      inserted = this.#written(this.#db, () =>
        together.map(({ entry, nowMs }) => this.#insert(entry, nowMs)),
      )
    } catch (cause) {
      // Includes the case that another program locked the file.
      for (const { reject } of together) reject(cause)
      return
    }
    for (const [index, { resolve }] of together.entries())
      resolve(this.#begun(inserted[index] as Inserted))
  }

  #begin(entry: Entry, nowMs: number): Begun {
    return this.#begun(this.#written(this.#db, () => this.#insert(entry, nowMs)))
  }

  /** After the commit, which can fail. */
  #begun({ begun, before }: Inserted): Begun {
    if (begun.kind === 'begun') this.#counted(before, 'settling')
    return begun
  }

  #insert(entry: Entry, nowMs: number): Inserted {
    const { key, answer, validBeforeSeconds } = entry
    const before = this.#statements.state.get(key)?.state
    if (before !== undefined && !isReusable(before)) return { begun: { kind: 'taken' }, before }
    if (this.#isIdentifierTaken(entry)) return { begun: { kind: 'identifier_taken' }, before }
    const headers = JSON.stringify(answer.headers)
    const validBeforeMs = validBeforeSeconds * 1_000
    const finality = grantedFinality(entry, this.#owed(entry))
    const id = this.#statements.begin.get({
      ...key,
      route: entry.route,
      binding: entry.binding,
      payloadHash: entry.payloadHash,
      identifier: entry.identifier,
      access: accessColumn(entry.access),
      callerUntilMs: entry.access.callerUntilMs,
      amount: entry.amount,
      finality,
      payment: JSON.stringify(entry.wire),
      validBeforeMs,
      nowMs,
    })?.id
    assert(id !== undefined, 'a row that may be used again is begun')
    this.#statements.keep.run({
      id,
      status: answer.status,
      headers,
      body: answer.body,
      answerHash: answerHash(headers, answer.body),
      expiresMs: validBeforeMs + OPEN_KEPT_MS,
    })
    return { begun: { kind: 'begun', finality }, before }
  }

  #isIdentifierTaken({ key: { payer }, identifier }: Entry): boolean {
    return identifier !== null && this.#statements.identified.get(payer, identifier) !== undefined
  }

  #owed({ key, finality }: Entry): { readonly payer: bigint; readonly total: bigint } {
    if (finality !== 'broadcast') return { payer: 0n, total: 0n }
    const { ofPayer, total } = this.#statements.exposure.get(key.payer) as {
      ofPayer: number | null
      total: number | null
    }
    return { payer: BigInt(ofPayer ?? 0), total: BigInt(total ?? 0) }
  }

  async move(
    key: PaymentKey,
    state: Exclude<PaymentState, 'settling'>,
    transaction: string | null,
    nowMs: number,
  ): Promise<void> {
    const moved = this.#written(this.#relaxed, () => {
      const before = this.#moves.state.get(key)
      if (before === undefined || before.state === 'settled') return null
      const { id } = before
      const isOpen = state === 'unknown' || state === 'unconfirmed'
      this.#moves.move.run({ id, state, transaction, isOpen: isOpen ? 1 : 0, nowMs })
      if (state === 'released') this.#moves.forget.run(id)
      else {
        const { answersMs } = this.#retention
        const keptMs = isOpen || before.state === 'unknown' ? OPEN_KEPT_MS : answersMs
        // Repeated follow-ups of an open payment do not extend its time.
        this.#moves.expire.run({ id, notBeforeMs: isOpen ? 0 : nowMs, keptMs })
      }
      return before.state
    })
    if (moved !== null) this.#counted(moved, state)
  }

  async admitCaller(key: PaymentKey, untilMs: number): Promise<void> {
    this.#moves.admitCaller.run({ ...key, untilMs })
  }

  /**
   * The first call marks all: they are of an earlier process. If the file is locked, later calls mark rows by age only,
   * because this process has begun sales by then.
   */
  async interrupted(nowMs: number): Promise<void> {
    const begunBeforeMs = this.#isTakenOver ? nowMs - SETTLING_MS_MAX : Number.MAX_SAFE_INTEGER
    this.#isTakenOver = true
    if (this.#counts.settling > 0) {
      const { changes } = this.#statements.interrupt.run(begunBeforeMs)
      this.#counts.settling -= changes
      this.#counts.unknown += changes
    }
  }

  /** No other process works on this file. */
  async takeOver(key: PaymentKey): Promise<boolean> {
    const state = this.#statements.state.get(key)?.state
    return state === 'settling' || state === 'unknown'
  }

  async nextOpen(
    untouchedSinceMs: number,
    nowMs: number,
    { networks, validBeforeMs }: NotFollowedUp = allFollowedUp,
  ): Promise<OpenPayment | null> {
    const row = this.#statements.open.get(untouchedSinceMs, validBeforeMs, JSON.stringify(networks))
    if (row === undefined) return null
    const { id, state, begunMs, route, transaction, payment, ...key } = row
    this.#statements.lookedAt.run(nowMs, id)
    return { key, state, begunMs, route, transaction, wire: JSON.parse(payment) as PaymentPayload }
  }

  async exposure(): Promise<bigint> {
    const { total } = this.#statements.exposure.get('') as { total: number | null }
    return BigInt(total ?? 0)
  }

  async hasSettled(payer: string): Promise<boolean> {
    return this.#statements.bought.get(payer) !== undefined
  }

  async hasLost(payer: string): Promise<boolean> {
    return this.#statements.lost.get(payer) !== undefined
  }

  /** Also removes failed settlements. */
  async sweep(nowMs: number, rowsMax: number): Promise<number> {
    const answers = this.#statements.sweepAnswers.run(nowMs, rowsMax).changes
    const released = this.#statements.sweepReleased.run(nowMs - RELEASED_KEPT_MS, rowsMax).changes
    this.#counts.released -= released
    const failures = await this.failures.sweep(nowMs, rowsMax)
    return Math.max(answers, released, failures, this.#sweepFinished(nowMs, rowsMax))
  }

  #sweepFinished(nowMs: number, rowsMax: number): number {
    const { paymentsMs } = this.#retention
    if (paymentsMs === null) return 0
    const removed = (['settled', 'lost'] as const).map((state) => {
      const { changes } = this.#statements.sweepFinished.run(state, nowMs - paymentsMs, rowsMax)
      this.#counts[state] -= changes
      return changes
    })
    return Math.max(...removed)
  }

  /** One page through the write-ahead log to the disk, as in a sale. */
  async writeFault(): Promise<string | null> {
    try {
      if (!this.#hasRoom()) return 'the disk of the ledger is full'
      const version = Number(this.#db.pragma('user_version', { simple: true }))
      // Writing the same number still writes its page.
      this.#db.pragma(`user_version = ${version}`)
      return null
    } catch (cause) {
      return `the ledger cannot be written: ${cause instanceof Error ? cause.message : String(cause)}`
    }
  }

  async counts(): Promise<LedgerCounts> {
    return { ...this.#counts }
  }

  summary(sinceMs: number, nowMs: number): Promise<SalesSummary> {
    return this.#summary(sinceMs, nowMs)
  }

  async close(): Promise<void> {
    if (this.#db.open) this.#beginAll()
    if (this.#relaxed !== this.#db) this.#relaxed.close()
    this.#db.close()
    this.#lock?.close()
  }

  #hasRoom(): boolean {
    if (this.#db.memory) return true
    const { bavail, bsize } = statfsSync(dirname(this.#db.name))
    return bavail * bsize >= ROOM_BYTES_MIN
  }

  /**
   * Takes the write lock first: a transaction that reads before it writes fails without waiting while another program
   * writes. The wait blocks the gateway; after a vain one, writes do not wait until one succeeds.
   */
  #written<T>(db: Database.Database, write: () => T): T {
    let result: T
    try {
      result = db.transaction(write).immediate()
    } catch (cause) {
      const trouble = troubleIn(cause)
      if (trouble === null) throw cause
      if (isBusy(cause)) this.#wait(0)
      throw new LedgerBusyError(`${trouble}; nothing was written`, cause)
    }
    if (this.#lockWaitMs !== LOCK_WAIT_MS_MAX) this.#wait(LOCK_WAIT_MS_MAX)
    return result
  }

  #wait(lockWaitMs: number): void {
    this.#lockWaitMs = lockWaitMs
    for (const db of [this.#db, this.#relaxed]) db.pragma(`busy_timeout = ${lockWaitMs}`)
  }

  #counted(before: PaymentState | undefined, after: PaymentState): void {
    if (before !== undefined) this.#counts[before] -= 1
    this.#counts[after] += 1
  }
}

const byKey = 'network = @network AND asset = @asset AND payer = @payer AND nonce = @nonce'
const stateByKey = `SELECT id, state FROM payments WHERE ${byKey}`

function movesOf(db: Database.Database) {
  return {
    state: db.prepare<[PaymentKey], StateRow>(stateByKey),
    move: db.prepare<[Record<string, unknown>]>(`
      UPDATE payments SET state = @state, updated_ms = @nowMs,
        finality = iif(@state = 'unknown', 'confirmed', finality),
        transaction_hash = coalesce(nullif(@transaction, ''), transaction_hash, @transaction),
        payment = iif(@isOpen, payment, NULL) WHERE id = @id`),
    expire: db.prepare<[Record<string, number>]>(`
      UPDATE answers SET expires_ms = max(p.valid_before_ms, @notBeforeMs) + @keptMs FROM payments p
        WHERE p.id = payment_id AND payment_id = @id`),
    admitCaller: db.prepare<[PaymentKey & { readonly untilMs: number }]>(
      `UPDATE payments SET caller_until_ms = @untilMs WHERE ${byKey}`,
    ),
    forget: db.prepare<[number]>('DELETE FROM answers WHERE payment_id = ?'),
  }
}

function statementsOf(db: Database.Database) {
  const columns =
    'state, binding, payload_hash, transaction_hash, access, caller_until_ms, status, headers, body, answer_hash'
  const joined = `SELECT ${columns} FROM payments LEFT JOIN answers ON payment_id = payments.id`
  return {
    find: db.prepare<[PaymentKey], StoredRow>(`${joined} WHERE ${byKey}`),
    identified: db.prepare<[string, string], PaymentKey>(`
      SELECT network, asset, payer, nonce FROM payments
        WHERE payer = ? AND identifier = ? AND state NOT IN ('released', 'lost') LIMIT 1`),
    state: db.prepare<[PaymentKey], StateRow>(stateByKey),
    begin: db.prepare<[Record<string, unknown>], { id: number }>(`
      INSERT INTO payments (network, asset, payer, nonce, state, route, binding, payload_hash,
          identifier, amount, finality, payment, valid_before_ms, begun_ms, updated_ms,
          access, caller_until_ms)
        VALUES (@network, @asset, @payer, @nonce, 'settling', @route, @binding, @payloadHash,
          @identifier, @amount, @finality, @payment, @validBeforeMs, @nowMs, @nowMs,
          @access, @callerUntilMs)
        ON CONFLICT DO UPDATE SET state = 'settling', route = excluded.route,
          binding = excluded.binding, payload_hash = excluded.payload_hash,
          identifier = excluded.identifier, amount = excluded.amount, finality = excluded.finality,
          transaction_hash = NULL, payment = excluded.payment,
          valid_before_ms = excluded.valid_before_ms, begun_ms = excluded.begun_ms,
          updated_ms = excluded.updated_ms, access = excluded.access,
          caller_until_ms = excluded.caller_until_ms
        WHERE state IN ('released', 'lost') RETURNING id`),
    keep: db.prepare<[Record<string, unknown>]>(`
      INSERT OR REPLACE INTO answers
        VALUES (@id, @status, @headers, @body, @answerHash, @expiresMs)`),
    interrupt: db.prepare<[number]>(`
      UPDATE payments SET state = 'unknown', finality = 'confirmed'
        WHERE state = 'settling' AND updated_ms < ?`),
    open: db.prepare<[number, number, string], OpenRow & { readonly id: number }>(`
      SELECT id, network, asset, payer, nonce, state, begun_ms AS begunMs, route,
          transaction_hash AS "transaction", payment
        FROM payments
        WHERE state IN ('unknown', 'unconfirmed') AND payment IS NOT NULL AND updated_ms <= ?
          AND (valid_before_ms >= ? OR network NOT IN (SELECT value FROM json_each(?)))
        ORDER BY updated_ms LIMIT 1`),
    lookedAt: db.prepare<[number, number]>('UPDATE payments SET updated_ms = ? WHERE id = ?'),
    exposure: db.prepare<[string]>(`
      SELECT sum(iif(payer = ?, amount, 0)) AS ofPayer, sum(amount) AS total FROM payments
        WHERE state IN ('settling', 'unconfirmed') AND finality = 'broadcast'`),
    bought: db.prepare<[string]>(
      `SELECT 1 FROM payments WHERE payer = ? AND state = 'settled' LIMIT 1`,
    ),
    lost: db.prepare<[string]>(`SELECT 1 FROM payments WHERE payer = ? AND state = 'lost' LIMIT 1`),
    sweepAnswers: db.prepare<[number, number]>(`
      DELETE FROM answers WHERE payment_id IN
        (SELECT payment_id FROM answers WHERE expires_ms < ? ORDER BY expires_ms LIMIT ?)`),
    sweepReleased: db.prepare<[number, number]>(`
      DELETE FROM payments WHERE id IN
        (SELECT id FROM payments WHERE state = 'released' AND updated_ms < ? LIMIT ?)`),
    sweepFinished: db.prepare<[PaymentState, number, number]>(`
      DELETE FROM payments WHERE id IN
        (SELECT id FROM payments WHERE state = ? AND updated_ms < ?
          AND NOT EXISTS (SELECT 1 FROM answers WHERE payment_id = id) LIMIT ?)`),
    count: db.prepare<[], { state: PaymentState; rows: number }>(
      'SELECT state, count(*) AS rows FROM payments GROUP BY state',
    ),
  }
}

/** A separate lock file, held until the process ends, so that readers of the ledger are not blocked. */
export function lockLedger(path: string): Database.Database {
  mkdirSync(dirname(path), { recursive: true })
  const lock = new Database(`${path}-lock`, { timeout: LOCK_WAIT_MS_MAX })
  try {
    chmodSync(`${path}-lock`, 0o600)
    lock.exec('BEGIN EXCLUSIVE')
    return lock
  } catch (cause) {
    lock.close()
    throw unusable(path, cause)
  }
}

function openDatabase(path: string): Database.Database {
  const db = new Database(path, { timeout: LOCK_WAIT_MS_MAX })
  try {
    // The file contains signed payments.
    if (path !== ':memory:') chmodSync(path, 0o600)
    db.pragma('journal_mode = WAL')
    // A committed row survives a power failure; measured at 0.2 ms an insert.
    db.pragma('synchronous = FULL')
    const verdict = db.pragma('quick_check', { simple: true })
    if (verdict !== 'ok') throw new OperatingError('ledger_corrupt', `${path}: ${String(verdict)}`)
    if (!migrate(db)) {
      const version = db.pragma('user_version', { simple: true })
      if (version === MOVED_VERSION)
        throw new OperatingError(
          'ledger_moved',
          `${path} was moved to PostgreSQL: its payments are there. Give the database by --ledger.`,
        )
      throw new OperatingError(
        'ledger_version',
        `${path} has schema ${String(version)}, which is newer than this version of perpscope`,
      )
    }
    return db
  } catch (cause) {
    db.close()
    throw cause instanceof OperatingError ? cause : unusable(path, cause)
  }
}

/** After a power failure a settled payment can be open again: the follow-up asks the chain. */
function relaxedConnection(path: string): Database.Database {
  const db = new Database(path, { timeout: LOCK_WAIT_MS_MAX })
  db.pragma('synchronous = NORMAL')
  return db
}

function unusable(path: string, cause: unknown): OperatingError {
  const trouble = isBusy(cause) ? 'is locked by another program' : 'cannot be used'
  return new OperatingError('ledger_unusable', `the payment ledger ${path} ${trouble}`, { cause })
}

/** Failures of the disk or of its users that can pass; null for a defect or a damaged file. */
const troubles: readonly (readonly [RegExp, string])[] = [
  [/^SQLITE_BUSY/, 'another program has locked the payment ledger'],
  [/^SQLITE_FULL/, 'the disk of the payment ledger is full'],
  [/^SQLITE_READONLY/, 'the payment ledger is read-only'],
  [/^SQLITE_(IOERR|CANTOPEN)/, 'the disk of the payment ledger fails'],
]

function troubleIn(cause: unknown): string | null {
  if (!(cause instanceof Database.SqliteError)) return null
  return troubles.find(([code]) => code.test(cause.code))?.[1] ?? null
}

function isBusy(cause: unknown): boolean {
  return cause instanceof Database.SqliteError && cause.code.startsWith('SQLITE_BUSY')
}
