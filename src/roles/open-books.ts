import { join } from 'node:path'
import type { BookOptions } from '../config/ledger.ts'
import { UsageError } from '../config/usage.ts'
import type { LedgerBooks, ReportRange } from '../payment/ledger/ledger-books.ts'
import { LedgerReport } from '../payment/ledger/ledger-report.ts'
import { postgresBooks } from '../payment/ledger/postgres-report.ts'
import { connectLedger } from './connect-ledger.ts'
import { loadSqlite } from './sqlite-binding.ts'

/**
 * Runs `work` over the ledger that the options name, also while a service writes it.
 * @throws OperatingError without a readable ledger
 */
export async function withBooks<T>(
  { ledger: url, dataDir }: BookOptions,
  work: (books: LedgerBooks) => Promise<T>,
): Promise<T> {
  if (url === undefined) {
    loadSqlite()
    const books = new LedgerReport(join(dataDir, 'ledger.db'))
    return work(books).finally(() => books.close())
  }
  const db = connectLedger(url)
  try {
    return await work(await postgresBooks(db))
  } finally {
    await db.close()
  }
}

/** @throws UsageError for a period without a moment, in which nothing would be found */
export function rangeOf({ since, until }: BookOptions): ReportRange {
  if (since !== undefined && until !== undefined && since >= until)
    throw new UsageError('--since must be before --until')
  return { sinceMs: since ?? 0, untilMs: until ?? Number.MAX_SAFE_INTEGER }
}
