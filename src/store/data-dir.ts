import {
  accessSync,
  chmodSync,
  constants,
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

/** Readable by the owner only: the files hold paid answers and signatures of buyers. */
const PRIVATE_DIR_MODE = 0o700
const PRIVATE_FILE_MODE = 0o600
/** The umask that gives new files these modes. */
export const PRIVATE_UMASK = 0o077

/** A database, the files that SQLite and the lock add to it, and copies that were set aside. */
const DATABASE_NAME = /\.db($|[-.])/
/** An empty database, for its lock alone. */
const LOCK = 'data-dir.db-lock'
/** A predecessor that is just exiting may still hold it. */
const LOCK_WAIT_MS_MAX = 500
/** Exists while a restore is unfinished. */
const UNFINISHED = 'restore.unfinished'
const CUT_OFF = 'perpscope restore was cut off: run it again\n'
/** Files that belong to a database. */
const SUFFIXES = ['', '-wal', '-shm', '-lock']

/**
 * Locks the directory against other processes that write there, until the lock is closed or this process ends.
 * @throws OperatingError while another process has the lock
 */
export function lockDataDir(dataDir: string): { close(): void } {
  let lock: Database.Database | undefined
  try {
    mkdirSync(dataDir, { recursive: true, mode: PRIVATE_DIR_MODE })
    // SQLite would only report that it cannot open the file.
    accessSync(dataDir, constants.W_OK | constants.X_OK)
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
 * Binds a data directory permanently to one market, the host of `--source`. Data of one market must never appear in answers about another.
 * @returns the market that the directory belongs to, which may be another one
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
 * Makes the directory and its existing databases private. The umask of the process covers new files.
 * @returns the errors, such as for a file of another user
 */
export function protectDataDir(dataDir: string): readonly string[] {
  mkdirSync(dataDir, { recursive: true, mode: PRIVATE_DIR_MODE })
  const files = readdirSync(dataDir)
    .filter((name) => DATABASE_NAME.test(name))
    .flatMap((name) => {
      const place = placeOf(join(dataDir, name))
      return SUFFIXES.map((suffix) => place + suffix)
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

/**
 * Marks the directory as incomplete until {@link endRestore}: it holds old and new files together.
 * @returns name of the folder for the replaced files. A restore that was cut off while it moved them is continued in
 * its own folder, because a database must not be separated from its log.
 */
export function beginRestore(dataDir: string, instant: string): string {
  const path = join(dataDir, UNFINISHED)
  const begun = statPresent(path) === undefined ? '' : readFileSync(path, 'utf8')
  const name = /^before-restore-[^/\s]+$/m.exec(begun)?.[0]
  if (name !== undefined) return name
  const named = `before-restore-${instant.replaceAll(':', '')}`
  writeFileSync(path, `${CUT_OFF}${named}\n`, { flush: true })
  return named
}

/** All replaced files are in their folder. A restore repeated after this point must not move restored copies there. */
export function endSetAside(dataDir: string): void {
  writeFileSync(join(dataDir, UNFINISHED), CUT_OFF, { flush: true })
}

export function endRestore(dataDir: string): void {
  rmSync(join(dataDir, UNFINISHED))
}

/** @throws OperatingError after an unfinished restore, because a service would start with an empty ledger */
export function checkRestored(dataDir: string): void {
  if (statPresent(join(dataDir, UNFINISHED)) !== undefined)
    throw new OperatingError(
      'restore_unfinished',
      `a restore of ${dataDir} was cut off: run perpscope restore again`,
    )
}

/** The market that a directory belongs to; null for none yet. */
export function marketIn(dataDir: string): string | null {
  try {
    const market = readFileSync(join(dataDir, 'market'), 'utf8').trim()
    return market === '' ? null : market
  } catch (cause) {
    if (isAbsence(cause)) return null
    throw new OperatingError('data_dir_unreadable', `${dataDir} cannot be read`, { cause })
  }
}
