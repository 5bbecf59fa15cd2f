import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import { isAbsence, OperatingError, reasonOf } from '../domain/errors.ts'
import { statPresent } from './present-file.ts'
import { placeOf } from './sqlite-file.ts'
import { syncToDisk } from './sync-to-disk.ts'

/** A database of the data directory, and the newest schema version that this program knows. */
export type VersionedFile = {
  readonly name: string
  readonly schema: number
  /** A file of an earlier schema is copied before its migration, because it cannot be made again. */
  readonly isCopied: boolean
}

/** From here on no version but a mark, such as that of a moved ledger, which its opening explains. */
const MARKS_FROM = 1_000_000

/** Version of perpscope that used the directory last. */
const VERSION_FILE = 'version'

/**
 * @param version of this program
 * @throws OperatingError for a file of a later version; nothing is changed
 */
export function checkDataVersions(
  dataDir: string,
  files: readonly VersionedFile[],
  version: string,
): void {
  for (const { name, schema: known, isCopied } of files) {
    const path = placeOf(join(dataDir, name))
    const schema = schemaIn(path)
    if (schema === null || schema <= known || schema >= MARKS_FROM) continue
    const writer = writerOf(dataDir)
    const copy = copyOf(path, known)
    const away = `move ${name} with its -wal and -shm files away`
    const way = !isCopied
      ? `${away}; it is made again within minutes`
      : statPresent(copy) === undefined
        ? `restore a backup of perpscope ${version} (perpscope restore)`
        : `${away} and ${copy} to its place; what came later is lost`
    throw new OperatingError(
      'data_newer',
      `${path} has schema ${schema}, written by ${writer}; this is perpscope ${version}, which knows schema ${known}. Start that version, or ${way}.`,
    )
  }
}

/**
 * Copies each file that will be migrated, and notes this version as the user of the directory.
 * @returns what was copied
 * @throws OperatingError if a copy cannot be made, for example without room
 */
export function beginVersion(
  dataDir: string,
  files: readonly VersionedFile[],
  version: string,
): readonly string[] {
  const copied: string[] = []
  for (const { name, schema: known, isCopied } of files) {
    const path = placeOf(join(dataDir, name))
    const schema = schemaIn(path)
    if (!isCopied || schema === null || schema === 0 || schema >= known) continue
    const copy = copyOf(path, schema)
    copyFile(path, copy)
    copied.push(`${path} is migrated from schema ${schema} to ${known}; ${copy} is its copy`)
  }
  writeFileSync(join(dataDir, VERSION_FILE), `${version}\n`)
  return copied
}

/** With everything that the log holds. An earlier copy of this schema is replaced. */
function copyFile(path: string, copy: string): void {
  const unfinished = `${copy}.new`
  try {
    rmSync(unfinished, { force: true })
    const db = new Database(path, { fileMustExist: true })
    try {
      db.prepare('VACUUM INTO ?').run(unfinished)
    } finally {
      db.close()
    }
    // After a power failure the copy is whole before the migration begins.
    syncToDisk(unfinished)
    renameSync(unfinished, copy)
    syncToDisk(dirname(copy))
  } catch (cause) {
    rmSync(unfinished, { force: true })
    throw new OperatingError(
      'data_not_copied',
      `${path} cannot be copied to ${copy} before its migration, and was not changed: ${reasonOf(cause)}`,
    )
  }
}

/** null for a file that does not exist or is damaged, which is reported where it is opened. */
function schemaIn(path: string): number | null {
  let db: Database.Database | undefined
  try {
    db = new Database(path, { readonly: true, fileMustExist: true })
    return Number(db.pragma('user_version', { simple: true }))
  } catch {
    return null
  } finally {
    db?.close()
  }
}

function copyOf(path: string, schema: number): string {
  return `${path}.schema-${schema}`
}

function writerOf(dataDir: string): string {
  try {
    return `perpscope ${readFileSync(join(dataDir, VERSION_FILE), 'utf8').trim()}`
  } catch (cause) {
    if (!isAbsence(cause)) throw cause
    return 'a later version of perpscope'
  }
}
