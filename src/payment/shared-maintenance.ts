import type { Clock } from '../domain/clock.ts'
import { Postgres } from './ledger/postgres.ts'
import type { PostgresTables } from './ledger/postgres-schema.ts'

export const maintenanceTables: PostgresTables = {
  name: 'maintenance',
  scripts: [
    `CREATE TABLE perpscope.maintenance (
       id int PRIMARY KEY CHECK (id = 1),
       is_on boolean NOT NULL,
       since_ms bigint NOT NULL,
       revision bigint NOT NULL
     );`,
  ],
}

/** Maintenance mode of all gateways. `revision` counts its changes. */
export type StoredMaintenance = {
  readonly isOn: boolean
  /** null before the first change. */
  readonly sinceMs: number | null
  readonly revision: bigint
}

export type SharedMaintenanceOptions = {
  readonly db: Postgres
  /** For a connection of its own, so that sales never delay a reading. */
  readonly url: string
  readonly clock: Clock
  /** The state cannot be read; the last known one stays. Called once until it can be read again. */
  readonly onFailure: (cause: unknown) => void
}

/** Changes are followed within a second. */
const POLL_MS = 500
const STATEMENT_MS_MAX = 1_000

type Row = { readonly is_on: boolean; readonly since_ms: bigint; readonly revision: bigint }

/** @param db with the tables of maintenance */
export async function readMaintenance(db: Postgres): Promise<StoredMaintenance> {
  const [row] = await db.query<Row>('SELECT is_on, since_ms, revision FROM perpscope.maintenance')
  if (row === undefined) return { isOn: false, sinceMs: null, revision: 0n }
  return { isOn: row.is_on, sinceMs: Number(row.since_ms), revision: row.revision }
}

/** @returns whether the state changed */
export async function writeMaintenance(
  db: Postgres,
  isOn: boolean,
  nowMs: number,
): Promise<boolean> {
  const changed = await db.query(
    `INSERT INTO perpscope.maintenance AS stored VALUES (1, $1, $2, 1)
       ON CONFLICT (id) DO UPDATE
         SET is_on = excluded.is_on, since_ms = excluded.since_ms, revision = stored.revision + 1
         WHERE stored.is_on <> excluded.is_on
       RETURNING 1`,
    [isOn, Math.round(nowMs)],
  )
  return changed.length > 0
}

/**
 * Maintenance mode as PostgreSQL has it: every gateway follows a change within a second. While PostgreSQL cannot be
 * reached, the last known state stays.
 */
export class SharedMaintenance {
  readonly #options: SharedMaintenanceOptions
  readonly #reader: Postgres
  readonly #startMs: number
  #state: StoredMaintenance
  #isFailing = false
  #isClosed = false
  #cancel = () => {}

  private constructor(options: SharedMaintenanceOptions, state: StoredMaintenance) {
    this.#options = options
    this.#reader = new Postgres({
      url: options.url,
      applicationName: 'perpscope maintenance',
      connectionsMax: 1,
      statementMsMax: STATEMENT_MS_MAX,
    })
    this.#startMs = options.clock.nowMs()
    this.#state = state
    void this.#follow()
  }

  /** @throws PostgresUnavailableError: a gateway that does not know the state must not sell */
  static async open(options: SharedMaintenanceOptions): Promise<SharedMaintenance> {
    return new SharedMaintenance(options, await readMaintenance(options.db))
  }

  get isOn(): boolean {
    return this.#state.isOn
  }

  get sinceMs(): number {
    return this.#state.sinceMs ?? this.#startMs
  }

  /** @returns whether the state changed. @throws PostgresUnavailableError; the state is unchanged or not known then */
  async set(isOn: boolean, nowMs: number): Promise<boolean> {
    const { db } = this.#options
    const hasChanged = await writeMaintenance(db, isOn, nowMs)
    this.#apply(await readMaintenance(db))
    return hasChanged
  }

  close(): void {
    this.#isClosed = true
    this.#cancel()
    void this.#reader.close()
  }

  async #follow(): Promise<void> {
    const { clock, onFailure } = this.#options
    try {
      this.#apply(await readMaintenance(this.#reader))
      this.#isFailing = false
    } catch (cause) {
      if (!this.#isFailing && !this.#isClosed) onFailure(cause)
      this.#isFailing = true
    }
    if (!this.#isClosed) this.#cancel = clock.after(POLL_MS, () => void this.#follow())
  }

  /** Replies can overtake each other. */
  #apply(state: StoredMaintenance): void {
    if (state.revision >= this.#state.revision) this.#state = state
  }
}
