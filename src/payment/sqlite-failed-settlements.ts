import Database from 'better-sqlite3'
import type {
  FailedSettlement,
  FailedSettlements,
  NetworkPayer,
  ReservedCost,
} from './failed-settlements.ts'
import {
  AT_ONCE,
  AT_ONCE_MAX,
  BARRED_MS,
  BARRED_WALLETS_OF_CODE,
  BARRING_STRIKES,
  FAILURE_WINDOW_MS,
} from './failed-settlements.ts'
import { migrate } from './ledger/sqlite-schema.ts'

/** Failed settlements in the file of the ledger. */
export class SqliteFailedSettlements implements FailedSettlements {
  readonly #db: Database.Database
  readonly #statements: ReturnType<typeof statementsOf>

  /** @param db database of the ledger */
  constructor(db: Database.Database) {
    this.#db = db
    this.#statements = statementsOf(db)
  }

  /** For a facilitator without a ledger. */
  static inMemory(): SqliteFailedSettlements {
    const db = new Database(':memory:')
    migrate(db)
    return new SqliteFailedSettlements(db)
  }

  async reserve(wanted: ReservedCost, costMax: bigint, nowMs: number): Promise<number | null> {
    return this.#db
      .transaction(() => {
        const used = this.#statements.used.get(wanted.network, nowMs - FAILURE_WINDOW_MS)
        if ((used?.cost ?? 0n) + wanted.cost > costMax) return null
        const row = { ...wanted, transaction: null, strikes: 0, state: 'in_flight', nowMs }
        return Number(this.#statements.insert.run(row).lastInsertRowid)
      })
      .immediate()
  }

  async release(id: number): Promise<void> {
    this.#statements.release.run(id)
  }

  async failed(
    failure: FailedSettlement,
    reserved: number | null,
    nowMs: number,
  ): Promise<boolean> {
    return this.#db
      .transaction(() => {
        if (reserved !== null) this.#statements.release.run(reserved)
        return this.#statements.insert.run({ ...failure, state: 'failed', nowMs }).changes > 0
      })
      .immediate()
  }

  async isBarred({ network, payer }: NetworkPayer, nowMs: number): Promise<boolean> {
    const found = this.#statements.strikes.get(network, payer, nowMs - BARRED_MS)
    return (found?.strikes ?? 0) >= BARRING_STRIKES
  }

  async isCodeBarred(
    { network, payer }: NetworkPayer,
    code: string,
    nowMs: number,
  ): Promise<boolean> {
    const since = nowMs - BARRED_MS
    const found = this.#statements.wallets.get(network, code, BARRING_STRIKES, since)
    if ((found?.wallets ?? 0) < BARRED_WALLETS_OF_CODE) return false
    return this.#statements.bought.get(payer, network) === undefined
  }

  async atOnceMax({ network, payer }: NetworkPayer): Promise<number> {
    const found = this.#statements.sales.get(payer, network, AT_ONCE_MAX)
    return Math.max(AT_ONCE, found?.sales ?? 0)
  }

  async ofContracts(network: string, nowMs: number) {
    const rows = this.#statements.ofContracts.all(network, nowMs - FAILURE_WINDOW_MS)
    return rows.map(({ cost, atMs }) => ({ cost, atMs: Number(atMs) }))
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
    used: db
      .prepare<[string, number], { cost: bigint | null }>(`
      SELECT sum(cost) AS cost FROM failed_settlements
        WHERE network = ? AND code IS NOT NULL AND at_ms > ?`)
      .safeIntegers(),
    ofContracts: db
      .prepare<[string, number], { cost: bigint; atMs: bigint }>(`
      SELECT cost, at_ms AS atMs FROM failed_settlements
        WHERE network = ? AND state = 'failed' AND code IS NOT NULL AND at_ms > ?
        ORDER BY at_ms DESC`)
      .safeIntegers(),
    sweep: db.prepare<[number, number]>(`
      DELETE FROM failed_settlements WHERE id IN
        (SELECT id FROM failed_settlements WHERE at_ms < ? LIMIT ?)`),
  }
}
