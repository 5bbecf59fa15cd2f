import { ledgerProblems } from '../config/check-ledger.ts'
import { ConfigError } from '../config/config-error.ts'
import { Postgres } from '../payment/ledger/postgres.ts'

/** Commands read and write whole tables. */
const STATEMENT_MS_MAX = 10 * 60_000

/** For a command of an operator. @throws ConfigError for another URL */
export function connectLedger(url: string): Postgres {
  const problems = ledgerProblems(url)
  if (problems.length > 0) throw new ConfigError(problems.join('\n'))
  return new Postgres({
    url,
    applicationName: 'perpscope command',
    statementMsMax: STATEMENT_MS_MAX,
  })
}
