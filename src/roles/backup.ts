import { mkdirSync, readdirSync, renameSync, rmdirSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { dirname, join, resolve, sep } from 'node:path'
import Database from 'better-sqlite3'
import type { BackupOptions } from '../config/backup.ts'
import { ConfigError } from '../config/config-error.ts'
import { version } from '../config/environment.ts'
import { OperatingError, reasonOf } from '../domain/errors.ts'
import { isoInstant } from '../domain/instant.ts'
import type { PaymentCounts } from '../payment/ledger/ledger-inspection.ts'
import { countPayments, inspectLedger } from '../payment/ledger/ledger-inspection.ts'
import { checkHasPayments } from '../payment/ledger/ledger-report.ts'
import type { BackupFile, BackupManifest } from '../store/backup-manifest.ts'
import {
  checkFingerprint,
  fingerprintOf,
  MANIFEST_FORMAT,
  MANIFEST_NAME,
  manifestIn,
} from '../store/backup-manifest.ts'
import { PRIVATE_UMASK } from '../store/data-dir.ts'
import type { CopyProgress } from '../store/database-copy.ts'
import { backUpDatabase, copyFile } from '../store/database-copy.ts'
import { statPresent } from '../store/present-file.ts'
import { isDamage, isHeld, placeOf } from '../store/sqlite-file.ts'
import { syncToDisk } from '../store/sync-to-disk.ts'
import type { DataFile } from './backup/data-files.ts'
import { dataFiles } from './backup/data-files.ts'
import type { Progress } from './backup/progress.ts'
import { isAbsent, size } from './doctor/files.ts'
import { loadSqlite } from './sqlite-binding.ts'
import { systemClock } from './system-clock.ts'

const LOCK_NAME = 'lock'

type LeftOut = { readonly name: string; readonly reason: string }

/** A copy that is not verified yet. */
type Copied = { readonly file: DataFile; readonly payments?: PaymentCounts }

/**
 * `perpscope backup DIR`: copies every file of the data directory while the service runs. The folder appears under its
 * name after all copies were verified; until then, and after a failure, an earlier backup stays unchanged.
 */
export async function backup(
  folder: string,
  options: BackupOptions,
  { write, progress }: { readonly write: (text: string) => void; readonly progress: Progress },
): Promise<void> {
  loadSqlite()
  const target = resolve(folder)
  const dataDir = resolve(options.dataDir)
  checkPlaces(target, dataDir)
  process.umask(PRIVATE_UMASK)
  const partial = `${target}.partial`
  const lock = begin(partial, target)
  try {
    const beganMs = systemClock.nowMs()
    const { files, payments, leftOut, ledgerAtMs } = await copied(dataDir, partial, progress)
    const manifest: BackupManifest = {
      format: MANIFEST_FORMAT,
      perpscope: version,
      ledger_at: isoInstant(ledgerAtMs),
      created_at: isoInstant(systemClock.nowMs()),
      data_dir: dataDir,
      files,
    }
    await writeFile(join(partial, MANIFEST_NAME), `${JSON.stringify(manifest, null, 2)}\n`)
    syncToDisk(join(partial, MANIFEST_NAME))
    // Under the lock: a second backup would remove what this one is about to publish.
    publish(partial, target)
    lock.close()
    rmSync(join(target, LOCK_NAME), { force: true })
    progress.end()
    const tookMs = Math.round(systemClock.nowMs() - beganMs)
    write(
      options.json
        ? `${JSON.stringify({ ok: true, dir: target, took_ms: tookMs, payments, left_out: leftOut, ...manifest })}\n`
        : summary(target, manifest, payments, leftOut, tookMs),
    )
  } catch (cause) {
    progress.end()
    lock.close()
    rmSync(partial, { recursive: true, force: true })
    throw cause
  }
}

function checkPlaces(target: string, dataDir: string): void {
  if (statPresent(dataDir)?.isDirectory() !== true)
    throw new ConfigError(`there is no data directory at ${dataDir}: give --data-dir`)
  if (`${target}${sep}`.startsWith(`${dataDir}${sep}`) || dataDir.startsWith(`${target}${sep}`))
    throw new ConfigError(`${target} and the data directory ${dataDir} contain one another`)
  const place = statPresent(target)
  if (place === undefined) return
  if (!place.isDirectory()) throw new ConfigError(`${target} is not a folder`)
  if (readdirSync(target).length > 0 && manifestIn(target) === null)
    throw new ConfigError(
      `${target} is not empty and not a backup of perpscope: give a new folder, an empty one, or a backup`,
    )
}

/** Removes the files of a killed backup. @returns the lock that keeps out a second backup to the same folder */
function begin(partial: string, target: string): Database.Database {
  mkdirSync(partial, { recursive: true, mode: 0o700 })
  const lock = new Database(join(partial, LOCK_NAME), { timeout: 0 })
  try {
    lock.exec('BEGIN EXCLUSIVE')
  } catch (cause) {
    lock.close()
    throw isHeld(cause)
      ? new OperatingError('backup_busy', `another backup to ${target} is running`, { cause })
      : new OperatingError('backup_not_begun', `${partial} cannot be locked`, { cause })
  }
  restoreReplaced(target)
  for (const name of readdirSync(partial))
    if (!name.startsWith(LOCK_NAME)) rmSync(join(partial, name), { recursive: true })
  return lock
}

async function copied(dataDir: string, partial: string, progress: Progress) {
  const present = dataFiles.filter(({ name }) => isPresent(dataDir, name))
  if (!present.some(({ kind }) => kind !== 'plain'))
    throw new ConfigError(`${dataDir} has no files to back up: give --data-dir`)
  const leftOut: LeftOut[] = []
  const files: BackupFile[] = []
  let payments: PaymentCounts | null = null
  let ledgerAtMs = systemClock.nowMs()
  for (const file of present) {
    const path = join(partial, file.name)
    if (file.kind === 'ledger') ledgerAtMs = systemClock.nowMs()
    try {
      const done = await copyOf(file, join(dataDir, file.name), path, (...step) =>
        progress.copied(file.name, ...step),
      )
      progress.checking(file.name)
      files.push(await verified(done, path))
      payments = done.payments ?? payments
    } catch (cause) {
      // A service begins these anew where they are of no use; what was sold must not wait for that.
      if (cause instanceof Database.SqliteError && (file.isMoney || !isDamage(cause)))
        throw new OperatingError('file_not_copied', `${file.name} cannot be copied`, { cause })
      if (file.isMoney || !(cause instanceof OperatingError || isDamage(cause))) throw cause
      for (const suffix of ['', '-wal', '-journal']) rmSync(path + suffix, { force: true })
      leftOut.push({ name: file.name, reason: reasonOf(cause) })
    }
  }
  return { files, payments, leftOut, ledgerAtMs }
}

/** @throws OperatingError if the file cannot be examined: a file on an unmounted disk must not be left out */
function isPresent(dataDir: string, name: string): boolean {
  try {
    return !isAbsent(join(dataDir, name))
  } catch (cause) {
    throw new OperatingError('file_not_copied', `${name} cannot be examined`, { cause })
  }
}

async function copyOf(
  file: DataFile,
  source: string,
  target: string,
  onProgress: CopyProgress,
): Promise<Copied> {
  switch (file.kind) {
    case 'plain':
      await copyFile(placeOf(source), target, onProgress)
      return { file }
    case 'database':
      await backUpDatabase(source, target, () => undefined, onProgress)
      return { file }
    case 'ledger': {
      const look = (db: Database.Database) => {
        checkHasPayments(db, source)
        return countPayments(db)
      }
      return { file, payments: await backUpDatabase(source, target, look, onProgress) }
    }
    default:
      return file.kind satisfies never
  }
}

/** Verifies a copy. @throws OperatingError if a service could not use it */
async function verified({ file, payments }: Copied, path: string): Promise<BackupFile> {
  syncToDisk(path)
  const schema = file.inspect?.(path) ?? null
  if (payments !== undefined) {
    const [was, is] = [payments, inspectLedger(path).payments].map((counts) =>
      JSON.stringify(counts),
    )
    if (was !== is)
      throw new OperatingError('backup_damaged', `the copy of the ledger has ${is}, not ${was}`)
  }
  const backedUp = { name: file.name, ...(await fingerprintOf(path)), schema_version: schema }
  await checkFingerprint(path, backedUp)
  return backedUp
}

/** Renames the folder to its final name, and then deletes the backup that it replaces. */
function publish(partial: string, target: string): void {
  syncToDisk(partial)
  const replaced = replacedOf(target)
  try {
    if (statPresent(target) !== undefined) {
      if (readdirSync(target).length === 0) rmdirSync(target)
      else renameSync(target, replaced)
    }
    renameSync(partial, target)
  } catch (cause) {
    restoreReplaced(target)
    throw new OperatingError(
      'backup_not_placed',
      `${target} cannot be replaced: if it is a mount point, give a folder in it`,
      { cause },
    )
  }
  syncToDisk(dirname(target))
  rmSync(replaced, { recursive: true, force: true })
}

/** After a kill between two renames the earlier backup has this name. */
function restoreReplaced(target: string): void {
  const replaced = replacedOf(target)
  if (statPresent(replaced) === undefined) return
  if (statPresent(target) !== undefined) rmSync(replaced, { recursive: true })
  else renameSync(replaced, target)
}

function replacedOf(target: string): string {
  return `${target}.replaced`
}

function summary(
  target: string,
  { files, ledger_at }: BackupManifest,
  payments: PaymentCounts | null,
  leftOut: readonly LeftOut[],
  tookMs: number,
): string {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
  const counts = Object.entries(payments ?? {}).map(([state, rows]) => `${rows} ${state}`)
  return [
    ...files.map((file) => `${file.name}: ${size(file.bytes)}, verified, ${file.sha256}`),
    ...leftOut.map(({ name, reason }) => `${name}: left out, serve creates a new one: ${reason}`),
    payments === null
      ? 'there is no ledger'
      : `payments until ${ledger_at}: ${counts.length === 0 ? 'none' : counts.join(', ')}`,
    `${target} has ${size(bytes)}, written in ${(tookMs / 1_000).toFixed(1)} s`,
    '',
  ].join('\n')
}
