import type { Logger } from 'pino'
import { checkRestored, lockDataDir, PRIVATE_UMASK, protectDataDir } from '../../store/data-dir.ts'
import { loadSqlite } from '../sqlite-binding.ts'
import { claimFor } from '../venue-source.ts'
import type { ServicePart } from './running-service.ts'

/**
 * Locks the data directory for this process, also if a later check refuses the start.
 * @throws OperatingError while another process uses it. @throws ConfigError if it belongs to another market
 */
export function lockDataFolder(source: string, dataDir: string): ServicePart {
  process.umask(PRIVATE_UMASK)
  loadSqlite()
  const lock = lockDataDir(dataDir)
  checkRestored(dataDir)
  claimFor(source, dataDir)
  return { stop: () => lock.close() }
}

export function protectDataFolder(dataDir: string, log: Logger): void {
  for (const reason of protectDataDir(dataDir))
    log.warn({ reason }, 'other users of this machine may be able to read paid answers')
}
