import Database from 'better-sqlite3'
import { ConfigError } from '../config/config-error.ts'
import type { DoctorFinding } from '../domain/desk-reports.ts'
import { reasonOf } from '../domain/errors.ts'
import { fail } from './doctor/finding.ts'

const REMEDY = 'reinstall the packages (npm ci)'

/** The finding of `doctor` if the binding does not load; null otherwise. */
export function checkSqlite(): DoctorFinding | null {
  const fault = loadFault()
  return fault === null ? null : fail('SQLite', `cannot be loaded: ${fault}`, REMEDY)
}

/**
 * Loads the native binding, which better-sqlite3 otherwise does with its first database, so that every file would seem
 * unusable.
 * @throws ConfigError if it does not load
 */
export function loadSqlite(): void {
  const fault = loadFault()
  if (fault !== null)
    throw new ConfigError(`SQLite cannot be loaded on this machine (${fault}): ${REMEDY}`)
}

/** The error in one line, without the require stack. */
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
