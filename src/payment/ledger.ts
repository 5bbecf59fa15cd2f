import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { chmodSync, mkdirSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import type { PaymentPayload } from '@x402/core/types'
import Database from 'better-sqlite3'
import { OperatingError } from '../domain/errors.ts'
import type { BufferedResponse } from './buffered-response.ts'
import type { AnswerAccess, Credentials } from './extensions/answer-access.ts'
import type { Finality } from './finality.ts'
import { migrate } from './ledger-schema.ts'
import { SqliteFailedSettlements } from './sqlite-failed-settlements.ts'

/** Identifies a payment: no chain settles the same four values twice. */
export type PaymentKey = {
  readonly network: string
  readonly asset: string
  readonly payer: string
  readonly nonce: string
}

/**
 * `settling`: the answer is stored and a settlement was begun. `unknown`: the settlement ended without a verdict, or a
 * crash interrupted it. `unconfirmed`: the answer was sent and the transfer is not final. `settled`: paid. `released`:
 * the settlement was refused; the payment may be used again. `lost`: the answer was sent and the transfer can never
 * happen. Payments without an answer are in memory only (`in-flight-payments.ts`).
 */
export type PaymentState = 'settling' | 'unknown' | 'unconfirmed' | 'settled' | 'released' | 'lost'

export type Entry = {
  readonly key: PaymentKey
  /** Pattern of the route, for reports. */
  readonly route: string
  /** The purchased call: `bindingOf` in `resource.ts`. */
  readonly binding: string
  readonly payloadHash: string
  /** The buyer's own identifier of the payment. */
  readonly identifier: string | null
  readonly access: AnswerAccess
  readonly amount: bigint
  readonly finality: Finality
  readonly validBeforeSeconds: number
  /** The payment, for later requests to the chain. */
  readonly wire: PaymentPayload
  readonly answer: BufferedResponse
}

export type LedgerRow = {
  readonly state: PaymentState
  readonly binding: string
  readonly payloadHash: string
  readonly transaction: string | null
  /** null before schema 3, which added access data. */
  readonly access: AnswerAccess | null
  /** null after its expiry, and if the payment bought nothing. */
  readonly answer: BufferedResponse | null
}

/** A payment whose outcome is not final. */
export type OpenPayment = {
  readonly id: number
  readonly key: PaymentKey
  readonly state: 'unknown' | 'unconfirmed'
  readonly begunMs: number
  readonly route: string
  readonly wire: PaymentPayload
}

export type LedgerCounts = Readonly<Record<PaymentState, number>>

/** Access to a paid answer after the payment expired or, if later, was settled. */
const ANSWER_KEPT_MS = 10 * 60_000
/** While and after an open outcome: the buyer may not have the answer yet. */
const OPEN_KEPT_MS = 7 * 86_400_000
/** Refused settlements are kept for the operator. */
const RELEASED_KEPT_MS = 86_400_000
/**
 * An exiting predecessor can hold the lock, and another program the file. SQLite blocks the gateway thread while it
 * waits.
 */
const LOCK_WAIT_MS_MAX = 500
const ANSWER_BYTES_MAX = 4 * 1_024 * 1_024
/** The longest answer, in the write-ahead log and in the file. */
const ROOM_BYTES_MIN = 2 * ANSWER_BYTES_MAX

type Row = {
  readonly state: PaymentState
  readonly binding: string
  readonly payload_hash: string
  readonly transaction_hash: string | null
  readonly access: string | null
  readonly caller_until_ms: number
  readonly status: number | null
  readonly headers: string
  readonly body: Buffer
  readonly answer_hash: Buffer
}

type StateRow = { readonly id: number; readonly state: PaymentState }

/** A row that is written together with others. */
type Waiting = {
  readonly entry: Entry
  readonly nowMs: number
  readonly resolve: () => void
  readonly reject: (cause: unknown) => void
}

type OpenRow = PaymentKey & {
  readonly id: number
  readonly state: 'unknown' | 'unconfirmed'
  readonly begunMs: number
  readonly route: string
  readonly payment: string
}

/** Another program locked the ledger for too long; nothing was written. */
export class LedgerBusyError extends OperatingError {
  constructor(cause: unknown) {
    super('ledger_busy', 'another program has locked the payment ledger', { cause })
  }
}

/**
 * Payments and their answers, on disk before any money moves. One file, one writing process: a second service on the
 * same file does not start. Readers such as `perpscope ledger` are allowed.
 */
export class PaymentLedger {
  readonly failures: SqliteFailedSettlements
  readonly #db: Database.Database
  /** For writes that a power failure may undo, because the chain has the same information. */
  readonly #relaxed: Database.Database
  readonly #lock: Database.Database | null
  readonly #counts: Record<PaymentState, number>
  readonly #statements: ReturnType<typeof statementsOf>
  readonly #moves: ReturnType<typeof movesOf>
  readonly #soon: ((task: () => void) => void) | null
  readonly #waiting: Waiting[] = []
  /** Lock wait of the next write. */
  #lockWaitMs = LOCK_WAIT_MS_MAX

  /**
   * @param path of the file, or `:memory:`
   * @param soon if given, rows of one turn share one write
   * @throws OperatingError if the file cannot be used
   */
  constructor(path: string, soon: ((task: () => void) => void) | null = null) {
    this.#soon = soon
    this.#lock = path === ':memory:' ? null : lockLedger(path)
    try {
      this.#db = openDatabase(path)
    } catch (cause) {
      this.#lock?.close()
      throw cause
    }
    this.#relaxed = path === ':memory:' ? this.#db : relaxedConnection(path)
    this.failures = new SqliteFailedSettlements(this.#relaxed)
    this.#statements = statementsOf(this.#db)
    this.#moves = movesOf(this.#relaxed)
    this.#counts = { settling: 0, unknown: 0, unconfirmed: 0, settled: 0, released: 0, lost: 0 }
    for (const { state, rows } of this.#statements.count.iterate()) this.#counts[state] = rows
  }

  /** @throws OperatingError if the stored answer is damaged */
  find(key: PaymentKey): LedgerRow | null {
    return this.#row(this.#statements.find.get(key), key.nonce)
  }

  /** The payment with this identifier, unless it was refused. */
  findByIdentifier(payer: string, identifier: string): PaymentKey | null {
    return this.#statements.identified.get(payer, identifier) ?? null
  }

  /**
   * Stores the answer before its settlement; durable when this resolves. A `broadcast` counts towards the exposure at
   * once and is never delayed.
   * @throws LedgerBusyError if another program locked the file for too long; nothing was written
   */
  async begin(entry: Entry, nowMs: number): Promise<void> {
    assert(entry.answer.body.length <= ANSWER_BYTES_MAX, 'a stored answer is at most 4 MiB')
    if (this.#soon === null || entry.finality === 'broadcast') this.#begin(entry, nowMs)
    else await this.#together(entry, nowMs, this.#soon)
  }

  #together(entry: Entry, nowMs: number, soon: (task: () => void) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ entry, nowMs, resolve, reject })
      if (this.#waiting.length === 1) soon(() => this.#beginAll())
    })
  }

  /** Writes all rows in one transaction. A row that must not begin fails alone. */
  #beginAll(): void {
    const together = this.#waiting.splice(0)
    const begun: Waiting[] = []
    try {
      this.#written(this.#db, () => {
        for (const waiting of together) {
          try {
            this.#begin(waiting.entry, waiting.nowMs)
            begun.push(waiting)
          } catch (cause) {
            waiting.reject(cause)
          }
        }
      })
    } catch (cause) {
      // Includes the case that another program locked the file.
      for (const { reject } of together) reject(cause)
      return
    }
    for (const { resolve } of begun) resolve()
  }

  #begin(entry: Entry, nowMs: number): void {
    const { key, answer, validBeforeSeconds } = entry
    const headers = JSON.stringify(answer.headers)
    const validBeforeMs = validBeforeSeconds * 1_000
    this.#written(this.#db, () => {
      const before = this.#statements.state.get(key)
      const begun = this.#statements.begin.get({
        ...key,
        route: entry.route,
        binding: entry.binding,
        payloadHash: entry.payloadHash,
        identifier: entry.identifier,
        access: JSON.stringify(credentialsOf(entry.access)),
        callerUntilMs: entry.access.callerUntilMs,
        amount: entry.amount,
        finality: entry.finality,
        payment: JSON.stringify(entry.wire),
        validBeforeMs,
        nowMs,
      })
      assert(begun !== undefined, 'a payment is settled once: its row is new or was released')
      this.#statements.keep.run({
        id: begun.id,
        status: answer.status,
        headers,
        body: answer.body,
        answerHash: answerHash(headers, answer.body),
        expiresMs: validBeforeMs + OPEN_KEPT_MS,
      })
      this.#counted(before?.state, 'settling')
    })
  }

  /** `settled` is final: a later verdict changes nothing. */
  move(
    key: PaymentKey,
    state: Exclude<PaymentState, 'settling'>,
    transaction: string | null,
    nowMs: number,
  ): void {
    this.#written(this.#relaxed, () => {
      const before = this.#moves.state.get(key)
      if (before === undefined || before.state === 'settled') return
      const { id } = before
      const isOpen = state === 'unknown' || state === 'unconfirmed'
      this.#moves.move.run({ id, state, transaction, isOpen: isOpen ? 1 : 0, nowMs })
      if (state === 'released') this.#moves.forget.run(id)
      else {
        const keptMs = isOpen || before.state === 'unknown' ? OPEN_KEPT_MS : ANSWER_KEPT_MS
        // Repeated follow-ups of an open payment do not extend its time.
        this.#moves.expire.run({ id, notBeforeMs: isOpen ? 0 : nowMs, keptMs })
      }
      this.#counted(before.state, state)
    })
  }

  /** End of the access by the address that paid; 0 once it has the complete answer. */
  admitCaller(key: PaymentKey, untilMs: number): void {
    this.#moves.admitCaller.run({ ...key, untilMs })
  }

  /** Marks settlements that a crash interrupted as unknown. Call it before the first sale. */
  interrupted(): void {
    const { changes } = this.#statements.interrupt.run()
    this.#counts.settling -= changes
    this.#counts.unknown += changes
  }

  /** Open payments that were not updated since, longest waiting first. */
  open(untouchedSinceMs: number, rowsMax: number): readonly OpenPayment[] {
    const rows = this.#statements.open.all(untouchedSinceMs, rowsMax)
    return rows.map(({ id, state, begunMs, route, payment, ...key }) => ({
      id,
      key,
      state,
      begunMs,
      route,
      wire: JSON.parse(payment) as PaymentPayload,
    }))
  }

  /** Moves a payment that is still open to the end of the queue. */
  lookedAt({ id }: OpenPayment, nowMs: number): void {
    this.#statements.lookedAt.run(nowMs, id)
  }

  /** Unsettled amount of answers sent on `broadcast`: of one payer and of all, in USDC atoms. */
  exposure(payer: string): { readonly payer: bigint; readonly total: bigint } {
    const { ofPayer, total } = this.#statements.exposure.get(payer) as {
      ofPayer: number | null
      total: number | null
    }
    return { payer: BigInt(ofPayer ?? 0), total: BigInt(total ?? 0) }
  }

  /** Whether this payer has a paid purchase. */
  hasSettled(payer: string): boolean {
    return this.#statements.bought.get(payer) !== undefined
  }

  /** Whether a transfer of this payer failed after its answer was sent. */
  hasLost(payer: string): boolean {
    return this.#statements.lost.get(payer) !== undefined
  }

  /** Removes up to `rowsMax` answers, refusals and failures each whose time is over. @returns how many they were */
  sweep(nowMs: number, rowsMax: number): number {
    const answers = this.#statements.sweepAnswers.run(nowMs, rowsMax).changes
    const released = this.#statements.sweepReleased.run(nowMs - RELEASED_KEPT_MS, rowsMax).changes
    this.#counts.released -= released
    return Math.max(answers, released, this.failures.sweep(nowMs, rowsMax))
  }

  /**
   * Tests a write: one page through the write-ahead log to the disk, as in a sale.
   * @returns why a sale cannot be written; null if it can
   */
  writeFault(): string | null {
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

  counts(): LedgerCounts {
    return { ...this.#counts }
  }

  close(): void {
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
  #written(db: Database.Database, write: () => void): void {
    try {
      db.transaction(write).immediate()
    } catch (cause) {
      if (!isBusy(cause)) throw cause
      this.#wait(0)
      throw new LedgerBusyError(cause)
    }
    if (this.#lockWaitMs !== LOCK_WAIT_MS_MAX) this.#wait(LOCK_WAIT_MS_MAX)
  }

  #wait(lockWaitMs: number): void {
    this.#lockWaitMs = lockWaitMs
    for (const db of [this.#db, this.#relaxed]) db.pragma(`busy_timeout = ${lockWaitMs}`)
  }

  #counted(before: PaymentState | undefined, after: PaymentState): void {
    if (before !== undefined) this.#counts[before] -= 1
    this.#counts[after] += 1
  }

  #row(row: Row | undefined, name: string): LedgerRow | null {
    if (row === undefined) return null
    const { state, binding, payload_hash: payloadHash, transaction_hash: transaction } = row
    const access =
      row.access === null
        ? null
        : { ...(JSON.parse(row.access) as Credentials), callerUntilMs: row.caller_until_ms }
    const facts = { state, binding, payloadHash, transaction, access }
    if (row.status === null) return { ...facts, answer: null }
    if (!answerHash(row.headers, row.body).equals(row.answer_hash)) {
      throw new OperatingError('ledger_corrupt', `the stored answer of ${name} is damaged`)
    }
    const headers = JSON.parse(row.headers) as BufferedResponse['headers']
    return { ...facts, answer: { status: row.status, headers, body: row.body } }
  }
}

const byKey = 'network = @network AND asset = @asset AND payer = @payer AND nonce = @nonce'
const stateByKey = `SELECT id, state FROM payments WHERE ${byKey}`

function movesOf(db: Database.Database) {
  return {
    state: db.prepare<[PaymentKey], StateRow>(stateByKey),
    move: db.prepare<[Record<string, unknown>]>(`
      UPDATE payments SET state = @state, updated_ms = @nowMs,
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
    find: db.prepare<[PaymentKey], Row>(`${joined} WHERE ${byKey}`),
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
    interrupt: db.prepare<[]>(`UPDATE payments SET state = 'unknown' WHERE state = 'settling'`),
    open: db.prepare<[number, number], OpenRow>(`
      SELECT id, network, asset, payer, nonce, state, begun_ms AS begunMs, route, payment
        FROM payments
        WHERE state IN ('unknown', 'unconfirmed') AND payment IS NOT NULL AND updated_ms <= ?
        ORDER BY updated_ms LIMIT ?`),
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

function credentialsOf({ secrets, caller }: AnswerAccess): Credentials {
  return { secrets, caller }
}

function isBusy(cause: unknown): boolean {
  return cause instanceof Database.SqliteError && cause.code.startsWith('SQLITE_BUSY')
}

export function answerHash(headers: string, body: Buffer): Buffer {
  return createHash('sha256').update(headers).update(body).digest()
}
