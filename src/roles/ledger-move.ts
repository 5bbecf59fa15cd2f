import { join } from 'node:path'
import { ConfigError } from '../config/config-error.ts'
import type { LedgerOptions } from '../config/ledger.ts'
import { usdcDecimal } from '../domain/usdc.ts'
import { moveLedger } from '../payment/ledger/ledger-move.ts'
import { connectLedger } from './connect-ledger.ts'
import { loadSqlite } from './sqlite-binding.ts'

/** `perpscope ledger move`: copies ledger.db and channels.db into PostgreSQL. */
export async function move(
  { to, dataDir }: LedgerOptions,
  write: (text: string) => void,
): Promise<void> {
  if (to === undefined) throw new ConfigError('perpscope ledger move needs --to: the database')
  loadSqlite()
  const files = { ledger: join(dataDir, 'ledger.db'), channels: join(dataDir, 'channels.db') }
  const db = connectLedger(to)
  try {
    const { payments, amount, digest, failedSettlements, channels, vouchers } = await moveLedger(
      files,
      db,
    )
    write(
      `${files.ledger}: ${payments} payments of ${usdcDecimal(amount)} USDC are in PostgreSQL, compared by SHA-256 ${digest}\n` +
        `Copied and compared as well: paid answers, fees, ${failedSettlements} failed settlements, ${channels} payment channels, ${vouchers} vouchers.\n` +
        'Start every service with --ledger from now on; the files are not served again.\n',
    )
  } finally {
    await db.close()
  }
}
