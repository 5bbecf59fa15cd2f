import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { isAbsence, OperatingError, reasonOf } from '../domain/errors.ts'
import { statPresent } from './present-file.ts'
import { isHeld, placeOf } from './sqlite-file.ts'

/** For its owner alone: paid answers, and what buyers signed. */
const PRIVATE_DIR_MODE = 0o700
const PRIVATE_FILE_MODE = 0o600
/** Of a process whose new files are to be like these. */
export const PRIVATE_UMASK = 0o077

/** A database, what SQLite and its lock put beside it, and what was set aside of it. */
const DATABASE_NAME = /\.db($|[-.])/
/** An empty database, for its lock alone. */
const LOCK = 'data-dir.db-lock'
/** A predecessor that is just exiting may still hold it. */
const LOCK_WAIT_MS_MAX = 500
/** While it exists a restore has not ended. */
const UNFINISHED = 'restore.unfinished'
/** What lies beside a database that is only linked to. */
const BESIDE = ['', '-wal', '-shm', '-lock']

/**
 * Keeps every other process that would write there off the directory, until it is closed or this process ends.
 * @throws OperatingError while another one has it
 */
export function lockDataDir(dataDir: string): { close(): void } {
  let lock: Database.Database | undefined
  try {
    mkdirSync(dataDir, { recursive: true, mode: PRIVATE_DIR_MODE })
    lock = new Database(join(dataDir, LOCK), { timeout: LOCK_WAIT_MS_MAX })
    lock.exec('BEGIN EXCLUSIVE')
    return lock
  } catch (cause) {
    lock?.close()
    if (isHeld(cause))
      throw new OperatingError(
        'data_dir_in_use',
        `another process (perpscope serve, record or restore) uses ${dataDir}: end it first, or give another --data-dir`,
      )
    throw new OperatingError('data_dir_unusable', `${dataDir} cannot be used`, { cause })
  }
}

/** Whether another process has the lock of {@link lockDataDir}. Changes nothing. */
export function isDataDirLocked(dataDir: string): boolean {
  let lock: Database.Database | undefined
  try {
    lock = new Database(join(dataDir, LOCK), { readonly: true, fileMustExist: true, timeout: 0 })
    lock.prepare('SELECT 1 FROM sqlite_schema').get()
    return false
  } catch (cause) {
    return isHeld(cause)
  } finally {
    lock?.close()
  }
}

/**
 * Binds a data directory to the market that it is about, for good: what was learnt of one must never be told of
 * another, and nothing that is told would show it.
 * @returns whose it is, which may be another one's already
 */
export function claimDataDir(dataDir: string, market: string): string {
  const owner = marketIn(dataDir)
  if (owner !== null) return owner
  mkdirSync(dataDir, { recursive: true, mode: PRIVATE_DIR_MODE })
  const path = join(dataDir, 'market')
  writeFileSync(`${path}.new`, `${market}\n`, { flush: true })
  renameSync(`${path}.new`, path)
  return market
}

/**
 * Closes the directory and the databases in it to other users of the machine, also those of an earlier version.
 * New files are for the umask of the process.
 * @returns what it could not close, and why: it belongs to another user
 */
export function protectDataDir(dataDir: string): readonly string[] {
  mkdirSync(dataDir, { recursive: true, mode: PRIVATE_DIR_MODE })
  const files = readdirSync(dataDir)
    .filter((name) => DATABASE_NAME.test(name))
    .flatMap((name) => {
      const place = placeOf(join(dataDir, name))
      return BESIDE.map((suffix) => place + suffix)
    })
  const modes: [string, number][] = [
    [dataDir, PRIVATE_DIR_MODE],
    ...files.map((path): [string, number] => [path, PRIVATE_FILE_MODE]),
  ]
  return modes.flatMap(([path, mode]) => {
    try {
      chmodSync(path, mode)
      return []
    } catch (cause) {
      return isAbsence(cause) ? [] : [reasonOf(cause)]
    }
  })
}

/** From here on the data directory is half of the old and half of the new, until {@link endRestore}. */
export function beginRestore(dataDir: string): void {
  writeFileSync(join(dataDir, UNFINISHED), 'perpscope restore was cut off: run it again\n', {
    flush: true,
  })
}

export function endRestore(dataDir: string): void {
  rmSync(join(dataDir, UNFINISHED))
}

/** @throws where a restore was cut off, or nobody can tell: a service would begin an empty ledger */
export function checkRestored(dataDir: string): void {
  if (statPresent(join(dataDir, UNFINISHED)) !== undefined)
    throw new OperatingError(
      'restore_unfinished',
      `a restore of ${dataDir} was cut off: run perpscope restore again`,
    )
}

/** null where it is nobody's yet. */
export function marketIn(dataDir: string): string | null {
  try {
    const market = readFileSync(join(dataDir, 'market'), 'utf8').trim()
    return market === '' ? null : market
  } catch (cause) {
    if (isAbsence(cause)) return null
    throw new OperatingError('data_dir_unreadable', `${dataDir} cannot be read`, { cause })
  }
}
