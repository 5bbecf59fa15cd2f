import { OperatingError } from '../../domain/errors.ts'
import type { Postgres, SqlQuery } from './postgres.ts'

/** Tables that belong together, in the schema `perpscope`. */
export type PostgresTables = {
  /** Such as `ledger`. */
  readonly name: string
  /** Script n leads from version n to n + 1; 0 is an empty database. A released script never changes. */
  readonly scripts: readonly string[]
}

/** Of `pg_advisory_xact_lock`: two gateways may start at once. */
const MIGRATION_LOCK = 7_402_001
/** Version 15, as `server_version_num`. */
export const SERVER_VERSION_MIN = 150_000

/**
 * Creates or migrates tables.
 * @throws OperatingError for a server before version 15 and for tables of a later version of perpscope
 */
export async function migrateTables(db: Postgres, tables: PostgresTables): Promise<void> {
  await db.transaction(async (query) => {
    await query(`SELECT pg_advisory_xact_lock(${MIGRATION_LOCK})`)
    await checkServer(query)
    await query('CREATE SCHEMA IF NOT EXISTS perpscope')
    await query(
      'CREATE TABLE IF NOT EXISTS perpscope.versions (name text PRIMARY KEY, version int NOT NULL)',
    )
    const version = await versionOf(query, tables)
    for (const script of tables.scripts.slice(version)) await query(script)
    await query(
      `INSERT INTO perpscope.versions VALUES ($1, $2)
         ON CONFLICT (name) DO UPDATE SET version = excluded.version`,
      [tables.name, tables.scripts.length],
    )
  })
}

/** Versions of the tables that exist, by their name; empty before the first start of `serve`. */
export async function storedVersions(db: Postgres): Promise<ReadonlyMap<string, number>> {
  const [table] = await db.query<{ found: boolean }>(
    `SELECT to_regclass('perpscope.versions') IS NOT NULL AS found`,
  )
  if (table?.found !== true) return new Map()
  const rows = await db.query<{ name: string; version: number }>(
    'SELECT name, version FROM perpscope.versions',
  )
  return new Map(rows.map(({ name, version }) => [name, version]))
}

/** @throws OperatingError for a later version of perpscope */
async function versionOf(query: SqlQuery, { name, scripts }: PostgresTables): Promise<number> {
  const [row] = await query<{ version: number }>(
    'SELECT version FROM perpscope.versions WHERE name = $1',
    [name],
  )
  const version = row?.version ?? 0
  if (version <= scripts.length) return version
  throw new OperatingError(
    'ledger_version',
    `the tables ${name} in PostgreSQL have schema ${version}; this version of perpscope knows ${scripts.length}. Use a later version.`,
  )
}

async function checkServer(query: SqlQuery): Promise<void> {
  const [row] = await query<{ number: number; version: string }>(
    `SELECT current_setting('server_version_num')::int AS number,
       current_setting('server_version') AS version`,
  )
  if (row !== undefined && row.number >= SERVER_VERSION_MIN) return
  throw new OperatingError(
    'postgres_version',
    `PostgreSQL ${row?.version} is too old: perpscope needs version 15 or later`,
  )
}
