import { CollectorLease, collectorTables } from '../../payment/channels/collector-lease.ts'
import {
  channelTables,
  PostgresChannelStore,
} from '../../payment/channels/postgres-channel-store.ts'
import type { LedgerRetention } from '../../payment/ledger/ledger.ts'
import { Postgres } from '../../payment/ledger/postgres.ts'
import { PostgresLedger } from '../../payment/ledger/postgres-ledger.ts'
import { migrateTables } from '../../payment/ledger/postgres-schema.ts'
import { postgresProofLog, proofTables } from '../../payment/postgres-proof-log.ts'
import { maintenanceTables, SharedMaintenance } from '../../payment/shared-maintenance.ts'
import { systemClock } from '../system-clock.ts'
import type { ServicePart } from './running-service.ts'

/** Free requests and the log of proofs never hold a connection that a sale needs. */
const PROOF_CONNECTIONS_MAX = 2

/**
 * Connects to the PostgreSQL of all gateways.
 * @param gateway of this process; another one after each start
 * @param opened gets what it opens, in the order of its end
 * @throws OperatingError if it cannot be used
 */
export async function connectSharedLedger(
  url: string,
  gateway: string,
  retention: LedgerRetention,
  opened: ServicePart[],
) {
  const applicationName = `perpscope ${gateway}`
  const db = new Postgres({ url, applicationName })
  const proofDb = new Postgres({ url, applicationName, connectionsMax: PROOF_CONNECTIONS_MAX })
  opened.unshift({ stop: () => proofDb.close() }, { stop: () => db.close() })
  const ledger = await PostgresLedger.open({ db, clock: systemClock, gateway, retention })
  opened.unshift({ stop: () => ledger.close() })
  await migrateTables(db, maintenanceTables)
  await migrateTables(db, proofTables)
  return {
    ...{ db, ledger, proofs: postgresProofLog(proofDb) },
    openMaintenance: (onFailure: (cause: unknown) => void) =>
      SharedMaintenance.open({ db, url, clock: systemClock, onFailure }),
    openChannels: async () => {
      await migrateTables(db, channelTables)
      await migrateTables(db, collectorTables)
      return {
        store: new PostgresChannelStore(db, gateway),
        lease: new CollectorLease({ db, gateway, clock: systemClock }),
      }
    },
  }
}
