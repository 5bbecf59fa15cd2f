import { OperatingError, reasonOf } from '../../domain/errors.ts'
import { PostgresReport } from '../../payment/ledger/postgres-report.ts'
import { SERVER_VERSION_MIN } from '../../payment/ledger/postgres-schema.ts'
import { connectLedger } from '../connect-ledger.ts'
import type { Finding } from './finding.ts'
import { fail, ok, warn } from './finding.ts'

type Server = {
  readonly version: string
  readonly number: number
  readonly commit: string
  readonly isReadOnly: boolean
  readonly mayCreate: boolean
}

const CHECK = 'ledger'

/** Examines the database at `--ledger`; changes nothing. */
export async function checkSharedLedger(url: string): Promise<Finding> {
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
    const found = `PostgreSQL ${version}`
    if (number < SERVER_VERSION_MIN)
      return fail(CHECK, `${found} is too old`, 'use version 15 or later')
    if (isReadOnly)
      return fail(CHECK, `${found} is read-only`, 'give the primary server, not a standby')
    const payments = await paymentsIn(db)
    if (payments === null && !mayCreate)
      return fail(CHECK, `${found}, the user may not create tables`, 'GRANT CREATE ON DATABASE')
    const books = payments === null ? 'no ledger yet; serve creates it' : `${payments} payments`
    return commit === 'off'
      ? warn(
          CHECK,
          `${found}, ${books}, synchronous_commit is off`,
          'perpscope turns it on for each sale; turn it on for the database as well',
        )
      : ok(CHECK, `${found}, ${books}, synchronous_commit ${commit}`)
  } catch (cause) {
    if (!(cause instanceof OperatingError)) throw cause
    return fail(CHECK, reasonOf(cause), 'serve would not start: check --ledger and the server')
  } finally {
    await db.close()
  }
}

/** null without a ledger. */
async function paymentsIn(db: ReturnType<typeof connectLedger>): Promise<number | null> {
  try {
    const books = await PostgresReport.open(db)
    const lines = await books.lines({ sinceMs: 0, untilMs: Number.MAX_SAFE_INTEGER })
    return lines.reduce((sum, { payments }) => sum + payments, 0)
  } catch (cause) {
    if (cause instanceof OperatingError && cause.code === 'ledger_absent') return null
    throw cause
  }
}
