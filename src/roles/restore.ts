import {
  lchownSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { basename, join, resolve } from 'node:path'
import type { BackupOptions } from '../config/backup.ts'
import { ConfigError } from '../config/config-error.ts'
import { OperatingError } from '../domain/errors.ts'
import { isoInstant } from '../domain/instant.ts'
import { lockLedger } from '../payment/ledger/sqlite-ledger.ts'
import type { BackupFile, BackupManifest } from '../store/backup-manifest.ts'
import { checkFingerprint, manifestIn } from '../store/backup-manifest.ts'
import {
  beginRestore,
  endRestore,
  endSetAside,
  lockDataDir,
  PRIVATE_UMASK,
  protectDataDir,
} from '../store/data-dir.ts'
import { copyFile } from '../store/database-copy.ts'
import { lstatPresent } from '../store/present-file.ts'
import { isHeld, placeOf } from '../store/sqlite-file.ts'
import { syncToDisk } from '../store/sync-to-disk.ts'
import { besideDatabase, dataFiles } from './backup/data-files.ts'
import type { Progress } from './backup/progress.ts'
import { loadSqlite } from './sqlite-binding.ts'
import { systemClock } from './system-clock.ts'

/** Holds the copies, on the disk of the data directory, until all are complete. */
const INCOMING = 'restore.partial'

const AFTERWARDS = [
  'serve looks up payments that were open in the backup on chain when it starts.',
  'Later payments are not in this ledger: if one is sent again and its nonce is used on chain, it is refused (409) ' +
    'and not charged again.',
]

/**
 * `perpscope restore DIR`: replaces the files of the data directory by a backup. The replaced files are kept in a
 * subfolder. The whole backup is verified before a file is moved.
 */
export async function restore(
  folder: string,
  options: BackupOptions,
  { write, progress }: { readonly write: (text: string) => void; readonly progress: Progress },
): Promise<void> {
  loadSqlite()
  const source = resolve(folder)
  const dataDir = resolve(options.dataDir)
  const manifest = manifestIn(source)
  if (manifest === null) throw new ConfigError(`${source} is not a backup of perpscope`)
  process.umask(PRIVATE_UMASK)
  try {
    await check(source, manifest, progress)
    mkdirSync(dataDir, { recursive: true })
    protectDataDir(dataDir)
    const lock = lockOf(dataDir)
    try {
      // Also if the restore fails: the service opens them at its next start.
      giveToOwner(
        dataDir,
        readdirSync(dataDir).filter((name) => name.endsWith('-lock')),
      )
      await takeIn(source, manifest, dataDir, progress)
      const aside = exchange(manifest, dataDir)
      syncToDisk(dataDir)
      progress.end()
      write(
        options.json
          ? `${JSON.stringify({ ok: true, data_dir: dataDir, set_aside: aside, ...facts(manifest) })}\n`
          : summary(manifest, dataDir, aside),
      )
    } finally {
      lock.close()
    }
  } finally {
    progress.end()
  }
}

/** @throws OperatingError for a file that is damaged, unknown or of a newer version */
async function check(source: string, { files }: BackupManifest, progress: Progress): Promise<void> {
  for (const file of files) {
    const known = dataFiles.find(({ name }) => name === file.name)
    if (known === undefined)
      throw new OperatingError('backup_newer', `this version does not know ${file.name}`)
    progress.checking(file.name)
    await checkFingerprint(join(source, file.name), file)
    known.inspect?.(join(source, file.name))
  }
}

/** @throws OperatingError while another process has the data directory, or one of its files as earlier versions do */
function lockOf(dataDir: string): { close(): void } {
  const directory = lockDataDir(dataDir)
  try {
    const ledger = lockLedger(join(dataDir, 'ledger.db'))
    return {
      close: () => {
        ledger.close()
        directory.close()
      },
    }
  } catch (cause) {
    directory.close()
    throw cause instanceof OperatingError && isHeld(cause.cause) ? inUse(dataDir) : cause
  }
}

function inUse(dataDir: string): OperatingError {
  return new OperatingError(
    'data_dir_in_use',
    `a service uses ${dataDir}: stop it first; nothing was changed`,
  )
}

/** Copies all files to the disk of the data directory and verifies the copies. */
async function takeIn(
  source: string,
  { files }: BackupManifest,
  dataDir: string,
  progress: Progress,
): Promise<void> {
  const incoming = join(dataDir, INCOMING)
  rmSync(incoming, { recursive: true, force: true })
  mkdirSync(incoming)
  try {
    for (const file of files) {
      const target = join(incoming, file.name)
      await copyFile(join(source, file.name), target, (...step) =>
        progress.copied(file.name, ...step),
      )
      await checkFingerprint(target, file)
    }
  } catch (cause) {
    // They would keep the disk full for the service that starts again.
    rmSync(incoming, { recursive: true, force: true })
    throw cause
  }
}

/** Moves the present files aside and the copies in their place. A marker keeps serve from starting in between. */
function exchange({ files }: BackupManifest, dataDir: string): string | null {
  const aside = join(dataDir, beginRestore(dataDir, isoInstant(systemClock.nowMs())))
  for (const name of dataFiles.map((file) => file.name)) setAside(dataDir, name, aside)
  endSetAside(dataDir)
  const copies = files.map(({ name }) => join(INCOMING, name))
  giveToOwner(dataDir, [...copies, basename(aside)])
  for (const { name } of files) renameSync(join(dataDir, INCOMING, name), join(dataDir, name))
  rmSync(join(dataDir, INCOMING), { recursive: true })
  endRestore(dataDir)
  return lstatPresent(aside) === undefined ? null : aside
}

/** Root may run this command for a service of another user, which could not open files of root. */
function giveToOwner(dataDir: string, names: readonly string[]): void {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = statSync(dataDir)
  for (const path of names.map((name) => join(dataDir, name)))
    if (lstatPresent(path) !== undefined) lchownSync(path, uid, gid)
}

function setAside(dataDir: string, name: string, aside: string): void {
  for (const suffix of besideDatabase) {
    const path = join(dataDir, name + suffix)
    const stat = lstatPresent(path)
    if (stat === undefined) continue
    mkdirSync(aside, { recursive: true })
    if (stat.isSymbolicLink()) {
      // A restore that was cut off here may have made it already.
      rmSync(join(aside, name + suffix), { force: true })
      // A relative link would have another target there.
      symlinkSync(placeOf(path), join(aside, name + suffix))
      rmSync(path)
    } else renameSync(path, join(aside, name + suffix))
  }
}

function facts({ files, ledger_at, created_at, perpscope }: BackupManifest) {
  return { perpscope, ledger_at, created_at, files: files satisfies readonly BackupFile[] }
}

function summary(
  { files, ledger_at }: BackupManifest,
  dataDir: string,
  aside: string | null,
): string {
  return [
    `${dataDir} restored to ${ledger_at}: ${files.map(({ name }) => name).join(', ')}`,
    aside === null ? 'no files were replaced' : `the replaced files are in ${aside}`,
    ...AFTERWARDS,
    '',
  ].join('\n')
}
