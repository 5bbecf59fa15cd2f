import Database from 'better-sqlite3'
import { ConfigError } from '../config/config-error.ts'
import { reasonOf } from '../domain/errors.ts'
import type { Finding } from './doctor/finding.ts'
import { fail } from './doctor/finding.ts'

const REMEDY = 'reinstall the packages (npm ci)'

/** What `doctor` says where the binding does not load; null where it does. */
export function checkSqlite(): Finding | null {
  const fault = loadFault()
  return fault === null ? null : fail('SQLite', `cannot be loaded: ${fault}`, REMEDY)
}

/**
 * Loads the native binding, which better-sqlite3 does with its first database and not when it is imported: every file
 * would seem unusable.
 * @throws ConfigError where it does not load
 */
export function loadSqlite(): void {
  const fault = loadFault()
  if (fault !== null)
    throw new ConfigError(`SQLite cannot be loaded on this machine (${fault}): ${REMEDY}`)
}

/** In one line, without the modules that asked for it. */
function loadFault(): string | null {
  try {
    new Database(':memory:').close()
    return null
  } catch (cause) {
    const { platform, arch, version } = process
    const reason = reasonOf(cause)
      .replace(/\nRequire stack:.*/s, '')
      .replace(/\s+/g, ' ')
    return `${platform} ${arch}, Node ${version}: ${reason}`
  }
}
