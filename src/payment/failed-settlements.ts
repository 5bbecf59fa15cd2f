import Database from 'better-sqlite3'
import { migrate } from './ledger-schema.ts'

/** A wallet on one network. */
export type NetworkPayer = { readonly network: string; readonly payer: string }

export type FailedSettlement = NetworkPayer & {
  /** Hash of the code that checks the payer's signatures; null for a key. */
  readonly code: string | null
  /** Transaction hash; each counts once. */
  readonly transaction: string
  /** Our cost: gas on EVM chains, lamports on Solana. */
  readonly cost: bigint
  /** Weight against the payer: `BARRING_STRIKES` block it, 0 means that it is not at fault. */
  readonly strikes: number
}

/** A payer can run out of money by accident once or twice. */
export const BARRING_STRIKES = 3
const BARRED_MS = 7 * 86_400_000
/** With this many blocked wallets the code itself is blocked. */
const BARRED_WALLETS_OF_CODE = 3
/** Concurrent settlements of one wallet; more if it has more paid purchases. */
const AT_ONCE = BARRING_STRIKES
const AT_ONCE_MAX = 50
/** Window of the gas limit for contract wallets. */
export const FAILURE_WINDOW_MS = 3_600_000

/**
 * Settlements that were simulated as valid and failed on chain at our cost. Stored in the ledger file, so that they
 * survive a restart.
 */
export class FailedSettlements {
  readonly #statements: ReturnType<typeof statementsOf>

  /** @param db database of the ledger */
  constructor(db: Database.Database) {
    this.#statements = statementsOf(db)
  }

  /** For a facilitator without a ledger. */
  static inMemory(): FailedSettlements {
    const db = new Database(':memory:')
    migrate(db)
    return new FailedSettlements(db)
  }

  /** Records a transaction before it is sent, with the most that it can cost. */
  reserve(wanted: Omit<FailedSettlement, 'strikes' | 'transaction'>, nowMs: number): number {
    const row = { ...wanted, transaction: null, strikes: 0, state: 'in_flight', nowMs }
    return Number(this.#statements.insert.run(row).lastInsertRowid)
  }

  /** The transaction was never sent, or it paid. */
  release(id: number): void {
    this.#statements.release.run(id)
  }

  /**
   * @param reserved result of `reserve` for the same transaction, or null
   * @returns whether the failure is new
   */
  failed(failure: FailedSettlement, reserved: number | null, nowMs: number): boolean {
    if (reserved !== null) this.release(reserved)
    return this.#statements.insert.run({ ...failure, state: 'failed', nowMs }).changes > 0
  }

  isBarred({ network, payer }: NetworkPayer, nowMs: number): boolean {
    const found = this.#statements.strikes.get(network, payer, nowMs - BARRED_MS)
    return (found?.strikes ?? 0) >= BARRING_STRIKES
  }

  /** Whether wallets with this code are blocked. A wallet with a paid purchase is exempt. */
  isCodeBarred({ network, payer }: NetworkPayer, code: string, nowMs: number): boolean {
    const since = nowMs - BARRED_MS
    const found = this.#statements.wallets.get(network, code, BARRING_STRIKES, since)
    if ((found?.wallets ?? 0) < BARRED_WALLETS_OF_CODE) return false
    return this.#statements.bought.get(payer, network) === undefined
  }

  /** Concurrent settlements that this wallet may have. */
  atOnceMax({ network, payer }: NetworkPayer): number {
    const found = this.#statements.sales.get(payer, network, AT_ONCE_MAX)
    return Math.max(AT_ONCE, found?.sales ?? 0)
  }

  /** Possible cost of the transactions of contract wallets in progress. */
  inFlight(network: string, nowMs: number): bigint {
    const found = this.#statements.inFlight.get(network, nowMs - FAILURE_WINDOW_MS)
    return BigInt(found?.cost ?? 0)
  }

  /** Failed transactions of contract wallets within the last hour, newest first. */
  ofContracts(network: string, nowMs: number): readonly { cost: bigint; atMs: number }[] {
    const rows = this.#statements.ofContracts.all(network, nowMs - FAILURE_WINDOW_MS)
    return rows.map(({ cost, atMs }) => ({ cost: BigInt(cost), atMs }))
  }

  /** @returns the number of removed rows */
  sweep(nowMs: number, rowsMax: number): number {
    return this.#statements.sweep.run(nowMs - BARRED_MS, rowsMax).changes
  }
}

function statementsOf(db: Database.Database) {
  return {
    insert: db.prepare<[Record<string, string | number | bigint | null>]>(`
      INSERT INTO failed_settlements
          (network, payer, code, transaction_hash, state, cost, strikes, at_ms)
        VALUES (@network, @payer, @code, @transaction, @state, @cost, @strikes, @nowMs)
        ON CONFLICT DO NOTHING`),
    release: db.prepare<[number]>('DELETE FROM failed_settlements WHERE id = ?'),
    strikes: db.prepare<[string, string, number], { strikes: number | null }>(`
      SELECT sum(strikes) AS strikes FROM failed_settlements
        WHERE network = ? AND payer = ? AND at_ms > ?`),
    wallets: db.prepare<[string, string, number, number], { wallets: number }>(`
      SELECT count(DISTINCT payer) AS wallets FROM failed_settlements
        WHERE network = ? AND code = ? AND strikes >= ? AND at_ms > ?`),
    bought: db.prepare<[string, string], { found: 1 }>(`
      SELECT 1 AS found FROM payments WHERE payer = ? AND state = 'settled' AND network = ? LIMIT 1`),
    sales: db.prepare<[string, string, number], { sales: number }>(`
      SELECT count(*) AS sales FROM (SELECT 1 FROM payments
        WHERE payer = ? AND state = 'settled' AND network = ? LIMIT ?)`),
    inFlight: db.prepare<[string, number], { cost: number | null }>(`
      SELECT sum(cost) AS cost FROM failed_settlements
        WHERE network = ? AND state = 'in_flight' AND at_ms > ?`),
    ofContracts: db.prepare<[string, number], { cost: number; atMs: number }>(`
      SELECT cost, at_ms AS atMs FROM failed_settlements
        WHERE network = ? AND state = 'failed' AND code IS NOT NULL AND at_ms > ?
        ORDER BY at_ms DESC`),
    sweep: db.prepare<[number, number]>(`
      DELETE FROM failed_settlements WHERE id IN
        (SELECT id FROM failed_settlements WHERE at_ms < ? LIMIT ?)`),
  }
}
