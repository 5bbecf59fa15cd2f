import { OperatingError } from '../../domain/errors.ts'
import {
  SCHEMA_VERSION as CHANNELS_SCHEMA,
  inspectChannels,
} from '../../payment/channels/sqlite-channel-store.ts'
import { inspectLedger } from '../../payment/ledger/ledger-inspection.ts'
import { SCHEMA_VERSION as LEDGER_SCHEMA } from '../../payment/ledger/sqlite-schema.ts'
import { CheckpointDb, checkpointMigrations } from '../../store/checkpoint-db.ts'
import type { VersionedFile } from '../../store/data-versions.ts'
import { DocumentStore, documentMigrations } from '../../store/document-store.ts'
import { inspectHistory } from '../../store/history-inspection.ts'
import { historyMigrations } from '../../store/history-schema.ts'
import { inspectProofFile, proofMigrations } from '../../store/proof-file.ts'
import type { FileInspection } from '../../store/sqlite-file.ts'

/** One file of the data directory, and how it gets into a backup and out of it. */
export type DataFile = {
  readonly name: string
  /**
   * `plain`: no database. `database`: SQLite's online backup reads it while the service writes; of the `ledger` the
   * payments are counted as well.
   */
  readonly kind: 'plain' | 'database' | 'ledger'
  /** Its loss costs money, so a backup must contain it. Other files can be rebuilt from the venue. */
  readonly isMoney: boolean
  /** The newest schema version that this program knows. */
  readonly schema?: number
  /** Reads the whole copy. @returns its schema version. @throws OperatingError if a service could not use it */
  readonly inspect?: (path: string) => number | null
}

/**
 * In the order of copying, so that what is copied later knows everything that an earlier file speaks of.
 *
 * The ledger comes before the channels: a voucher that the channels have and the ledger lacks is a sale that is
 * missing in the books, and can be claimed. The other way round the ledger would say `settled` of a voucher that
 * nobody has any more, which is money lost. A payment that was being settled is asked of the channels and of the
 * chain after a restore, and both are at least as new as its row.
 *
 * The checkpoint comes before the history: a checkpoint must not know a bar that history lacks (decision 008).
 */
export const dataFiles: readonly DataFile[] = [
  { name: 'market', kind: 'plain', isMoney: false },
  { name: 'maintenance', kind: 'plain', isMoney: false },
  {
    name: 'ledger.db',
    kind: 'ledger',
    isMoney: true,
    schema: LEDGER_SCHEMA,
    inspect: (path) => inspectLedger(path).version,
  },
  {
    ...{ name: 'channels.db', kind: 'database', isMoney: true },
    ...{ schema: CHANNELS_SCHEMA, inspect: channelsSchema },
  },
  {
    ...{ name: 'proofs.db', kind: 'database', isMoney: false },
    ...{ schema: proofMigrations.length, inspect: schemaOf(inspectProofFile) },
  },
  {
    ...{ name: 'engine.db', kind: 'database', isMoney: false },
    ...{ schema: checkpointMigrations.length, inspect: schemaOf(CheckpointDb.inspect) },
  },
  {
    ...{ name: 'history.db', kind: 'database', isMoney: false },
    ...{ schema: historyMigrations.length, inspect: schemaOf(inspectHistory) },
  },
  {
    name: 'documents.db',
    kind: 'database',
    isMoney: false,
    schema: documentMigrations.length,
    inspect: schemaOf(DocumentStore.inspect),
  },
]

/** Suffixes of the files of a database. */
export const besideDatabase = ['', '-wal', '-shm', '-journal'] as const

function channelsSchema(path: string): number | null {
  const inspection = inspectChannels(path)
  // The service ended before it created the tables.
  return inspection.state === 'empty' ? null : inspection.version
}

function schemaOf(
  inspect: (path: string) => FileInspection<unknown>,
): (path: string) => number | null {
  return (path) => {
    const inspection = inspect(path)
    if (inspection.state === 'readable') return inspection.version
    const reason = inspection.state === 'unusable' ? inspection.reason : inspection.state
    throw new OperatingError('file_unusable', `${path} cannot be used: ${reason}`)
  }
}

const MADE_AGAIN: ReadonlySet<string> = new Set(['engine.db', 'documents.db'])

/**
 * The databases with their schemas. Checkpoint and documents are made again within minutes; the others are copied before
 * a migration.
 */
export const versionedFiles: readonly VersionedFile[] = dataFiles.flatMap(({ name, schema }) =>
  schema === undefined ? [] : [{ name, schema, isCopied: !MADE_AGAIN.has(name) }],
)
