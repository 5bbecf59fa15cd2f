import { OperatingError } from '../../domain/errors.ts'
import { dialects, LedgerBooks } from './ledger-books.ts'
import type { Postgres } from './postgres.ts'
import { ledgerTables } from './postgres-ledger-tables.ts'
import { storedVersions } from './postgres-schema.ts'
import { costTables } from './stored-transaction-costs.ts'

/** @throws OperatingError without a ledger of this version */
export async function postgresBooks(db: Postgres): Promise<LedgerBooks> {
  const versions = await storedVersions(db)
  const version = versions.get(ledgerTables.name)
  if (version === undefined)
    throw new OperatingError('ledger_absent', 'there is no payment ledger in this database yet')
  const known = ledgerTables.scripts.length
  if (version !== known)
    throw new OperatingError(
      'ledger_version',
      `the ledger has schema ${version}; this version of perpscope reads ${known}. ${version < known ? 'perpscope serve migrates it.' : 'Use a later version.'}`,
    )
  return new LedgerBooks(db.query, dialects.postgres, versions.has(costTables.name))
}
