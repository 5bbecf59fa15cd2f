import { join } from 'node:path'
import { ConfigError } from '../config/config-error.ts'
import type { LedgerOptions } from '../config/ledger.ts'
import { usdcDecimal } from '../domain/usdc.ts'
import { moveLedger } from '../payment/ledger/ledger-move.ts'
import { connectLedger } from './connect-ledger.ts'
import { loadSqlite } from './sqlite-binding.ts'

/** `perpscope ledger move`: copies ledger.db into PostgreSQL. */
export async function move(
  { to, dataDir }: LedgerOptions,
  write: (text: string) => void,
): Promise<void> {
  if (to === undefined) throw new ConfigError('perpscope ledger move needs --to: the database')
  loadSqlite()
  const path = join(dataDir, 'ledger.db')
  const db = connectLedger(to)
  try {
    const { payments, amount, digest } = await moveLedger(path, db)
    write(
      `${path}: ${payments} payments of ${usdcDecimal(amount)} USDC are in PostgreSQL, compared by SHA-256 ${digest}\n` +
        'Start every service with --ledger from now on; the file is not served again.\n',
    )
  } finally {
    await db.close()
  }
}
