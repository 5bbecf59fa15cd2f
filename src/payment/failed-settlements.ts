import Database from 'better-sqlite3'
import { migrate } from './ledger-schema.ts'

/** A wallet on one chain, as its payments name it. */
export type NetworkPayer = { readonly network: string; readonly payer: string }

export type FailedSettlement = NetworkPayer & {
  /** Hash of the code that judges the payer's signatures; null where a key does. */
  readonly code: string | null
  /** Its name on the chain: each counts once. */
  readonly transaction: string
  /** What we paid for it: gas on an EVM chain, lamports on Solana. */
  readonly cost: bigint
  /** How much it counts against its payer: `BARRING_STRIKES` bar it at once, 0 says that it did nothing wrong. */
  readonly strikes: number
}

/** A payer that runs out of money in the middle is an accident once or twice. */
export const BARRING_STRIKES = 3
const BARRED_MS = 7 * 86_400_000
/** One wallet may be to blame and not its code; with so many barred it is the code. */
const BARRED_WALLETS_OF_CODE = 3
/** So many settlements of a wallet may be under way at once, and as many as it has paid for if that is more. */
const AT_ONCE = BARRING_STRIKES
const AT_ONCE_MAX = 50
/** Failures within this time count against the bound on what contract wallets may burn. */
export const FAILURE_WINDOW_MS = 3_600_000

/**
 * Settlements that were simulated as valid and failed on the chain at our cost: who is barred for them, and
 * what they cost lately. In the ledger's file, so that a restart forgives nothing.
 */
export class FailedSettlements {
  readonly #statements: ReturnType<typeof statementsOf>

  /** @param db with the tables of the ledger */
  constructor(db: Database.Database) {
    this.#statements = statementsOf(db)
  }

  /** For a facilitator without a ledger. */
  static inMemory(): FailedSettlements {
    const db = new Database(':memory:')
    migrate(db)
    return new FailedSettlements(db)
  }

  /** Notes a transaction before it is sent: until its end is known, all that it may cost is counted. */
  reserve(wanted: Omit<FailedSettlement, 'strikes' | 'transaction'>, nowMs: number): number {
    const row = { ...wanted, transaction: null, strikes: 0, state: 'in_flight', nowMs }
    return Number(this.#statements.insert.run(row).lastInsertRowid)
  }

  /** It was never sent, or has paid. */
  release(id: number): void {
    this.#statements.release.run(id)
  }

  /**
   * @param reserved what `reserve` gave for the same transaction, or null. @returns whether it was not known yet
   */
  failed(failure: FailedSettlement, reserved: number | null, nowMs: number): boolean {
    if (reserved !== null) this.release(reserved)
    return this.#statements.insert.run({ ...failure, state: 'failed', nowMs }).changes > 0
  }

  isBarred({ network, payer }: NetworkPayer, nowMs: number): boolean {
    const found = this.#statements.strikes.get(network, payer, nowMs - BARRED_MS)
    return (found?.strikes ?? 0) >= BARRING_STRIKES
  }

  /** Whether wallets of this code are barred. A wallet that has bought here answers for itself alone. */
  isCodeBarred({ network, payer }: NetworkPayer, code: string, nowMs: number): boolean {
    const since = nowMs - BARRED_MS
    const found = this.#statements.wallets.get(network, code, BARRING_STRIKES, since)
    if ((found?.wallets ?? 0) < BARRED_WALLETS_OF_CODE) return false
    return this.#statements.bought.get(payer, network) === undefined
  }

  /** How many settlements of this wallet may be under way: what it can make us lose, it has paid before. */
  atOnceMax({ network, payer }: NetworkPayer): number {
    const found = this.#statements.sales.get(payer, network, AT_ONCE_MAX)
    return Math.max(AT_ONCE, found?.sales ?? 0)
  }

  /** What transactions of contract wallets that are under way may cost. */
  inFlight(network: string, nowMs: number): bigint {
    const found = this.#statements.inFlight.get(network, nowMs - FAILURE_WINDOW_MS)
    return BigInt(found?.cost ?? 0)
  }

  /** What failed transactions of contract wallets have cost within the last hour, the newest first. */
  ofContracts(network: string, nowMs: number): readonly { cost: bigint; atMs: number }[] {
    const rows = this.#statements.ofContracts.all(network, nowMs - FAILURE_WINDOW_MS)
    return rows.map(({ cost, atMs }) => ({ cost: BigInt(cost), atMs }))
  }

  /** @returns how many were removed */
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
