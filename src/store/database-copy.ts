import type { BigIntStats } from 'node:fs'
import { rmSync, statSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { open } from 'node:fs/promises'
import Database from 'better-sqlite3'
import { isAbsence, OperatingError } from '../domain/errors.ts'
import { statPresent, statPresentExactly } from './present-file.ts'
import { isDamage, placeOf } from './sqlite-file.ts'

/** Receives the progress of a copy, in bytes. */
export type CopyProgress = (done: number, total: number) => void

export type HeldCopyOptions = {
  readonly onProgress?: CopyProgress
  readonly pause: (ms: number) => Promise<void>
}

/** A step of SQLite's backup is 1 MB; other work runs between two steps. */
const PAGES_PER_STEP = 256
const LOCK_WAIT_MS_MAX = 5_000
/** Synced one by one, so that the disk stays available to the service. */
const CHUNK_BYTES = 4 * 1_024 * 1_024
/** A log is emptied every few seconds while its file is written; a copy takes a fraction of one. */
const ATTEMPTS_MAX = 40
const AGAIN_MS = 250
/** Timestamps of file systems have a resolution of some milliseconds. */
const SETTLED_MS = 50
/** Magic, salts and checksum; it changes each time the log begins again. */
const LOG_HEADER_BYTES = 32

/**
 * Copies a database by SQLite's online backup, while other processes read and write it.
 * @param look reads the state that is copied
 */
export async function backUpDatabase<Seen>(
  source: string,
  target: string,
  look: (db: Database.Database) => Seen,
  onProgress: CopyProgress = () => undefined,
): Promise<Seen> {
  const db = new Database(source, {
    readonly: true,
    fileMustExist: true,
    timeout: LOCK_WAIT_MS_MAX,
  })
  try {
    const pageBytes = Number(db.pragma('page_size', { simple: true }))
    // Without a read transaction SQLite restarts the backup with every row that is written during it.
    db.exec('BEGIN')
    const seen = look(db)
    await db.backup(target, {
      progress: ({ totalPages, remainingPages }) => {
        onProgress((totalPages - remainingPages) * pageBytes, totalPages * pageBytes)
        return PAGES_PER_STEP
      },
    })
    db.exec('COMMIT')
    standAlone(target)
    return seen
  } finally {
    db.close()
  }
}

/**
 * Copies a database that a process has locked: the file, then its log. A page that SQLite moves from the log into the
 * file during the copy is still in the log, unless the log began again; then everything is copied again. SQLite merges
 * file and log of the copy.
 * @throws OperatingError if the log began again during every attempt
 */
export async function copyHeldDatabase(
  source: string,
  target: string,
  { onProgress = () => undefined, pause }: HeldCopyOptions,
): Promise<void> {
  const place = placeOf(source)
  let cause: unknown
  let damaged: FileState | null = null
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    if (attempt > 0) await pause(AGAIN_MS)
    const before = await stateOf(place)
    if (before.header === null) {
      await pause(SETTLED_MS)
      if (!isSame(before, await stateOf(place))) continue
    }
    await copyFile(place, target, onProgress)
    await copyLog(`${place}-wal`, `${target}-wal`)
    if (!isSame(before, await stateOf(place))) continue
    try {
      standAlone(target)
      return
    } catch (fault) {
      if (!isDamage(fault)) throw fault
      cause = fault
      // Nothing was written between two copies, so the file itself is damaged.
      if (before.header === null && damaged !== null && isSame(damaged, before)) break
      damaged = before
    }
  }
  throw new OperatingError(
    'file_not_copied',
    `${source} changed during every attempt to copy it, or is damaged`,
    {
      cause,
    },
  )
}

/** Moves the log into the file, so that the file is complete without it. */
function standAlone(path: string): void {
  const db = new Database(path, { fileMustExist: true })
  try {
    // Avoids the -shm file.
    db.pragma('locking_mode = EXCLUSIVE')
    db.pragma('journal_mode = DELETE')
  } finally {
    db.close()
  }
}

type FileState = {
  /** null for an empty or absent log. */
  readonly header: Buffer | null
  readonly file: BigIntStats
  readonly log: BigIntStats | undefined
}

async function stateOf(place: string): Promise<FileState> {
  return {
    header: await headerOf(`${place}-wal`),
    file: statSync(place, { bigint: true }),
    log: statPresentExactly(`${place}-wal`),
  }
}

/** Whether the log was not emptied between the two: with it, the file may have been written. */
function isSame(before: FileState, after: FileState): boolean {
  if (before.file.ino !== after.file.ino || before.log?.ino !== after.log?.ino) return false
  if (before.header !== null) return after.header !== null && before.header.equals(after.header)
  return (
    after.header === null &&
    before.file.ctimeNs === after.file.ctimeNs &&
    before.log?.ctimeNs === after.log?.ctimeNs
  )
}

async function headerOf(logPath: string): Promise<Buffer | null> {
  const file = await opened(logPath)
  if (file === null) return null
  try {
    const bytes = Buffer.alloc(LOG_HEADER_BYTES)
    const { bytesRead } = await file.read(bytes, 0, LOG_HEADER_BYTES, 0)
    return bytesRead === LOG_HEADER_BYTES ? bytes : null
  } finally {
    await file.close()
  }
}

async function copyLog(source: string, target: string): Promise<void> {
  if (statPresent(source) === undefined) rmSync(target, { force: true })
  else await copyFile(source, target)
}

/** Includes bytes that are appended during the copy. The copy is readable by the owner only. */
export async function copyFile(
  source: string,
  target: string,
  onProgress: CopyProgress = () => undefined,
): Promise<void> {
  const from = await open(source, 'r')
  try {
    const to = await open(target, 'w', 0o600)
    try {
      const { size } = await from.stat()
      const chunk = Buffer.allocUnsafe(CHUNK_BYTES)
      for (let at = 0; ; ) {
        const { bytesRead } = await from.read(chunk, 0, CHUNK_BYTES, at)
        if (bytesRead === 0) break
        await to.write(chunk, 0, bytesRead, at)
        await to.datasync()
        at += bytesRead
        onProgress(at, Math.max(at, size))
      }
    } finally {
      await to.close()
    }
  } finally {
    await from.close()
  }
}

async function opened(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, 'r')
  } catch (cause) {
    if (isAbsence(cause)) return null
    throw cause
  }
}
