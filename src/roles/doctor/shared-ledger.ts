import { DatabaseError } from 'pg'
import type { DoctorFinding } from '../../domain/desk-reports.ts'
import { OperatingError, reasonOf } from '../../domain/errors.ts'
import { collectorTables } from '../../payment/channels/collector-lease.ts'
import { channelTables } from '../../payment/channels/postgres-channel-store.ts'
import { ledgerTables } from '../../payment/ledger/postgres-ledger-tables.ts'
import { postgresBooks } from '../../payment/ledger/postgres-report.ts'
import type { PostgresTables } from '../../payment/ledger/postgres-schema.ts'
import { SERVER_VERSION_MIN, storedVersions } from '../../payment/ledger/postgres-schema.ts'
import { costTables } from '../../payment/ledger/stored-transaction-costs.ts'
import { proofTables } from '../../payment/postgres-proof-log.ts'
import { maintenanceTables } from '../../payment/shared-maintenance.ts'
import { failedSettlementTables } from '../../payment/stored-failed-settlements.ts'
import { connectLedger } from '../connect-ledger.ts'
import { monotonicMs } from '../system-clock.ts'
import { fail, ok, warn } from './finding.ts'

type Server = {
  readonly version: string
  readonly number: number
  readonly commit: string
  readonly isReadOnly: boolean
  readonly mayCreate: boolean
}

const CHECK = 'ledger'
/** Everything that `serve` migrates. */
const allTables: readonly PostgresTables[] = [
  ...[ledgerTables, failedSettlementTables, costTables, maintenanceTables, proofTables],
  ...[channelTables, collectorTables],
]

/** Examines the database at `--ledger`; changes nothing. */
export async function checkSharedLedger(url: string): Promise<DoctorFinding> {
  const db = connectLedger(url)
  try {
    const [server] = await db.query<Server>(`
      SELECT current_setting('server_version') AS version,
        current_setting('server_version_num')::int AS number,
        current_setting('synchronous_commit') AS commit,
        pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on' AS "isReadOnly",
        has_database_privilege(current_database(), 'CREATE') AS "mayCreate"`)
    if (server === undefined) throw new OperatingError('postgres_unavailable', 'no reply')
    const { version, number, commit, isReadOnly, mayCreate } = server
    if (number < SERVER_VERSION_MIN)
      return fail(CHECK, `PostgreSQL ${version} is too old`, 'use version 15 or later')
    if (isReadOnly)
      return fail(
        CHECK,
        `PostgreSQL ${version} is read-only`,
        'give the primary server, not a standby',
      )
    const askedMs = monotonicMs()
    const stored = await storedVersions(db)
    const trip = `round trip ${(monotonicMs() - askedMs).toFixed(1)} ms`
    const found = `PostgreSQL ${version}, ${trip}`
    const other = otherVersions(stored, found)
    if (other !== null) return other
    const hasLedger = stored.has(ledgerTables.name)
    if (!hasLedger && !mayCreate)
      return fail(CHECK, `${found}, the user may not create tables`, 'GRANT CREATE ON DATABASE')
    const books = hasLedger ? `${await paymentsIn(db)} payments` : 'no ledger yet; serve creates it'
    return commit === 'off'
      ? warn(
          CHECK,
          `${found}, ${books}, synchronous_commit is off`,
          'perpscope turns it on for each sale; turn it on for the database as well',
        )
      : ok(CHECK, `${found}, ${books}, synchronous_commit ${commit}`)
  } catch (cause) {
    if (!(cause instanceof OperatingError || cause instanceof DatabaseError)) throw cause
    return fail(CHECK, reasonOf(cause), adviceOn(cause))
  } finally {
    await db.close()
  }
}

/** null if all tables that exist are of this version. */
function otherVersions(stored: ReadonlyMap<string, number>, found: string): DoctorFinding | null {
  const names = (isOther: (version: number, known: number) => boolean) =>
    allTables
      .filter(({ name, scripts }) => isOther(stored.get(name) ?? scripts.length, scripts.length))
      .map(({ name }) => name)
      .join(', ')
  const later = names((version, known) => version > known)
  if (later !== '')
    return fail(
      CHECK,
      `${found}, tables of a later version of perpscope: ${later}`,
      'serve would not start: use that version',
    )
  const earlier = names((version, known) => version < known)
  if (earlier === '') return null
  return warn(
    CHECK,
    `${found}, tables of an earlier version of perpscope: ${earlier}`,
    'serve migrates them, and earlier versions cannot start then: back up first',
  )
}

async function paymentsIn(db: ReturnType<typeof connectLedger>): Promise<number> {
  const books = await postgresBooks(db)
  const lines = await books.lines({ sinceMs: 0, untilMs: Number.MAX_SAFE_INTEGER })
  return lines.reduce((sum, { payments }) => sum + payments, 0)
}

/** By SQLSTATE: a wrong login, a database that does not exist, rights that the user lacks. */
function adviceOn(failure: Error): string {
  const code = [failure, failure.cause].find((one) => one instanceof DatabaseError)?.code
  if (code?.startsWith('28')) return 'check user and password of --ledger'
  if (code === '3D000') return 'create the database, or correct its name in --ledger'
  if (code === '42501') return 'GRANT the user of --ledger all rights on the schema perpscope'
  return 'serve would not start: check --ledger and the server'
}
