import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Maintenance } from '../../api/maintenance-switch.ts'
import { MaintenanceSwitch } from '../../api/maintenance-switch.ts'
import { ConfigError } from '../../config/config-error.ts'
import type { ServeOptions } from '../../config/serve.ts'
import type { ProofLog } from '../../domain/answer-proof.ts'
import { reasonOf } from '../../domain/errors.ts'
import type { ChannelStore } from '../../payment/channels/channel-store.ts'
import type { CollectorLease } from '../../payment/channels/collector-lease.ts'
import { SqliteChannelStore } from '../../payment/channels/sqlite-channel-store.ts'
import { OwnTurns, SharedTurns } from '../../payment/evm/account-turns.ts'
import type { FailedSettlements } from '../../payment/failed-settlements.ts'
import { disagreement } from '../../payment/ledger/agreement.ts'
import type { Ledger, LedgerRetention } from '../../payment/ledger/ledger.ts'
import { SqliteLedger } from '../../payment/ledger/sqlite-ledger.ts'
import type { RecordCost, TransactionCosts } from '../../payment/ledger/transaction-costs.ts'
import { sqliteProofLog } from '../../payment/sqlite-proof-log.ts'
import { MaintenanceFile } from '../../store/maintenance-file.ts'
import { statPresent } from '../../store/present-file.ts'
import { openProofFile } from '../../store/proof-file.ts'
import type { TurnsOf } from '../payment-watching.ts'
import { systemClock } from '../system-clock.ts'
import type { ServicePart } from './running-service.ts'
import { sharedSettings } from './shared-settings.ts'

/** The ledger of this process, and what is stored with it. */
export type OpenLedger = {
  readonly ledger: Ledger
  readonly failures: FailedSettlements
  readonly turnsOf: TurnsOf
  readonly recordCost: RecordCost
  readonly maintenance: Maintenance
  readonly proofs: ProofLog
  /** @throws OperatingError if the vouchers cannot be trusted */
  openChannels(): Promise<OpenChannels>
}

type OpenChannels = {
  readonly store: ChannelStore
  /** Of the claims on chain, if gateways share the channels. */
  readonly lease?: CollectorLease
}

/**
 * Opens `--ledger`, or ledger.db in the data directory.
 * @param opened gets what it opens, in the order of its end
 * @throws ConfigError if this gateway differs from those at work. @throws OperatingError if the ledger cannot be used
 */
export async function openLedger(
  options: ServeOptions,
  log: Logger,
  opened: ServicePart[],
): Promise<OpenLedger> {
  const { dataDir } = options
  if (options.ledger !== undefined) return openShared(options.ledger, options, log, opened)
  const ledger = new SqliteLedger(
    join(dataDir, 'ledger.db'),
    (task) => setImmediate(task),
    retentionOf(options),
  )
  opened.unshift({ stop: () => ledger.close() })
  const { db, setAside } = openProofFile(join(dataDir, 'proofs.db'), systemClock.nowMs())
  opened.unshift({ stop: () => db.close() })
  if (setAside !== null) log.warn({ setAside }, 'the proof log was damaged; a new one is begun')
  const proofs = sqliteProofLog(
    db,
    () => systemClock.nowMs(),
    (task) => setImmediate(task),
  )
  return {
    ...{ ledger, failures: ledger.failures, proofs, turnsOf: () => new OwnTurns() },
    recordCost: recorderOf(ledger),
    maintenance: ownMaintenance(dataDir),
    openChannels: async () => ({ store: new SqliteChannelStore(join(dataDir, 'channels.db')) }),
  }
}

function retentionOf({ answersMinutes, ledgerDays }: ServeOptions): LedgerRetention {
  const paymentsMs = ledgerDays === 0 ? null : ledgerDays * 86_400_000
  return { answersMs: answersMinutes * 60_000, paymentsMs }
}

function recorderOf({ costs }: { readonly costs: TransactionCosts }): RecordCost {
  return (cost) => costs.record(cost, systemClock.nowMs())
}

/** Maintenance mode of this process alone, in its data directory. */
export function ownMaintenance(dataDir: string): MaintenanceSwitch {
  const path = join(dataDir, 'maintenance')
  const file = new MaintenanceFile(path)
  const nowMs = systemClock.nowMs()
  // The file is created when maintenance begins, which may be before this process.
  const createdMs = file.read() ? statPresent(path)?.mtimeMs : undefined
  return new MaintenanceSwitch(Math.floor(Math.min(createdMs ?? nowMs, nowMs)), file)
}

async function openShared(
  url: string,
  options: ServeOptions,
  log: Logger,
  opened: ServicePart[],
): Promise<OpenLedger> {
  // Without --ledger none of this is loaded.
  const { connectSharedLedger } = await import('./shared-ledger.ts')
  const gateway = `${hostname()}:${options.port}-${randomUUID().slice(0, 8)}`
  const shared = await connectSharedLedger(url, gateway, retentionOf(options), opened)
  const { db, ledger, proofs, openMaintenance, openChannels } = shared
  const differences = await ledger.join(sharedSettings(options))
  if (differences.length > 0) throw new ConfigError(disagreement(differences))
  const maintenance = await openMaintenance((cause) =>
    log.warn(
      { reason: reasonOf(cause) },
      'maintenance mode cannot be read from PostgreSQL; the last known one stays',
    ),
  )
  opened.unshift({ stop: () => maintenance.close() })
  return {
    ...{ ledger, failures: ledger.failures, proofs, maintenance, openChannels },
    turnsOf: (account) => new SharedTurns(db, account),
    recordCost: recorderOf(ledger),
  }
}
