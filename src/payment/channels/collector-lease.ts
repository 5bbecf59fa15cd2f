import type { Clock } from '../../domain/clock.ts'
import type { Postgres } from '../ledger/postgres.ts'
import type { PostgresTables } from '../ledger/postgres-schema.ts'

export const collectorTables: PostgresTables = {
  name: 'collector',
  scripts: [
    `CREATE TABLE perpscope.collector (
       id int PRIMARY KEY CHECK (id = 1),
       gateway text NOT NULL,
       expires timestamptz NOT NULL
     );`,
  ],
}

export type CollectorLeaseOptions = {
  readonly db: Pick<Postgres, 'query'>
  /** Names this process; another name after each start. */
  readonly gateway: string
  readonly clock: Clock
}

/** A gateway that ends without a release is replaced after this time. */
const LEASE_MS = 10_000
const RENEW_MS = 3_000

/**
 * The right to claim vouchers on chain, which one gateway has at a time. If two gateways send the same claim, the second
 * one costs gas and moves no money, because the contract counts totals.
 */
export class CollectorLease {
  readonly #options: CollectorLeaseOptions
  /** By the clock of this process, from before the renewal was sent. */
  #heldUntilMs = 0
  #cancel = () => {}
  #isStopped = false
  #renewal: Promise<void> = Promise.resolve()

  constructor(options: CollectorLeaseOptions) {
    this.#options = options
  }

  get isHeld(): boolean {
    return this.#options.clock.nowMs() < this.#heldUntilMs
  }

  /** Acquires and renews the lease until `stop`. @param onAcquired runs each time after it was not held */
  start(onAcquired: () => void): void {
    this.#renewal = this.#renew(onAcquired)
  }

  /** Lets another gateway acquire the lease at once. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancel()
    this.#heldUntilMs = 0
    const { db, gateway } = this.#options
    // On another connection it could come after the release.
    await this.#renewal
    // If PostgreSQL is away, the lease expires by itself.
    await db
      .query('DELETE FROM perpscope.collector WHERE gateway = $1', [gateway])
      .catch(() => undefined)
  }

  async #renew(onAcquired: () => void): Promise<void> {
    const { clock } = this.#options
    const beganMs = clock.nowMs()
    const wasHeld = this.isHeld
    const isGranted = await this.#ask().catch(() => null)
    if (this.#isStopped) return
    // Without an answer the lease is held until it expires.
    if (isGranted !== null) this.#heldUntilMs = isGranted ? beganMs + LEASE_MS : 0
    if (this.isHeld && !wasHeld) onAcquired()
    this.#cancel = clock.after(RENEW_MS, () => this.start(onAcquired))
  }

  async #ask(): Promise<boolean> {
    const { db, gateway } = this.#options
    const rows = await db.query(
      `INSERT INTO perpscope.collector AS held VALUES (1, $1, clock_timestamp() + $2 * interval '1 ms')
         ON CONFLICT (id) DO UPDATE SET gateway = excluded.gateway, expires = excluded.expires
           WHERE held.gateway = excluded.gateway OR held.expires < clock_timestamp()
         RETURNING 1`,
      [gateway, LEASE_MS],
    )
    return rows.length > 0
  }
}
