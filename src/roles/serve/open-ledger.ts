import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { ConfigError } from '../../config/config-error.ts'
import type { ServeOptions } from '../../config/serve.ts'
import { OwnTurns, SharedTurns } from '../../payment/evm/account-turns.ts'
import type { FailedSettlements } from '../../payment/failed-settlements.ts'
import { disagreement } from '../../payment/ledger/agreement.ts'
import type { Ledger } from '../../payment/ledger/ledger.ts'
import { SqliteLedger } from '../../payment/ledger/sqlite-ledger.ts'
import { SqliteFailedSettlements } from '../../payment/sqlite-failed-settlements.ts'
import type { TurnsOf } from '../payment-watching.ts'
import { systemClock } from '../system-clock.ts'
import { sharedSettings } from './shared-settings.ts'

/** The ledger of this process, and what is stored with it. */
export type OpenLedger = {
  readonly ledger: Ledger
  readonly failures: FailedSettlements
  readonly turnsOf: TurnsOf
  close(): Promise<void>
}

/**
 * Opens `--ledger`, or ledger.db in the data directory.
 * @throws ConfigError if this gateway differs from those at work. @throws OperatingError if the ledger cannot be used
 */
export async function openLedger(options: ServeOptions): Promise<OpenLedger> {
  if (options.ledger !== undefined) return openShared(options.ledger, options)
  const ledger = new SqliteLedger(join(options.dataDir, 'ledger.db'), (task) => setImmediate(task))
  return {
    ...{ ledger, failures: ledger.failures, turnsOf: () => new OwnTurns() },
    close: () => ledger.close(),
  }
}

async function openShared(url: string, options: ServeOptions): Promise<OpenLedger> {
  const [{ Postgres }, { PostgresLedger }] = await Promise.all([
    import('../../payment/ledger/postgres.ts'),
    import('../../payment/ledger/postgres-ledger.ts'),
  ])
  const gateway = `${hostname()}:${options.port}-${randomUUID().slice(0, 8)}`
  const db = new Postgres({ url, applicationName: `perpscope ${gateway}` })
  try {
    const ledger = await PostgresLedger.open({ db, clock: systemClock, gateway })
    const differences = await ledger.join(sharedSettings(options))
    if (differences.length > 0) throw new ConfigError(disagreement(differences))
    return {
      ledger,
      // Counted by each gateway.
      failures: SqliteFailedSettlements.inMemory(),
      turnsOf: (account) => new SharedTurns(db, account),
      close: async () => {
        await ledger.close()
        await db.close()
      },
    }
  } catch (cause) {
    await db.close()
    throw cause
  }
}
