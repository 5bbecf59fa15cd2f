import type { Logger } from 'pino'
import { version } from '../../config/environment.ts'
import { checkRestored, lockDataDir, PRIVATE_UMASK, protectDataDir } from '../../store/data-dir.ts'
import { beginVersion, checkDataVersions } from '../../store/data-versions.ts'
import { versionedFiles } from '../backup/data-files.ts'
import { loadSqlite } from '../sqlite-binding.ts'
import { claimFor } from '../venue-source.ts'
import type { ServicePart } from './running-service.ts'

/**
 * Locks the data directory for this process.
 * @param opened gets the lock, also if a later check refuses the start
 * @throws OperatingError while another process uses it, and for files of a later version. @throws ConfigError if it belongs to another market
 */
export function lockDataFolder(source: string, dataDir: string, opened: ServicePart[]): void {
  process.umask(PRIVATE_UMASK)
  loadSqlite()
  const lock = lockDataDir(dataDir)
  opened.unshift({ stop: () => lock.close() })
  checkRestored(dataDir)
  checkDataVersions(dataDir, versionedFiles, version)
  claimFor(source, dataDir)
}

/** Copies files that will be migrated, and keeps other users away. Before any file is opened. */
export function prepareDataFolder(dataDir: string, log: Logger): void {
  for (const copied of beginVersion(dataDir, versionedFiles, version)) log.warn(copied)
  for (const reason of protectDataDir(dataDir))
    log.warn({ reason }, 'other users of this machine may be able to read paid answers')
}
