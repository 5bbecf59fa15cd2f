import { open } from 'node:fs/promises'
import Database from 'better-sqlite3'

/** Receives the progress of a copy, in bytes. */
export type CopyProgress = (done: number, total: number) => void

/** A step of SQLite's backup is 1 MB; other work runs between two steps. */
const PAGES_PER_STEP = 256
const LOCK_WAIT_MS_MAX = 5_000
/** Synced one by one, so that the disk stays available to the service. */
const CHUNK_BYTES = 4 * 1_024 * 1_024

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
    // Without a read transaction SQLite restarts the backup with every row that is written during it. BEGIN alone
    // begins none; the first read does: https://sqlite.org/lang_transaction.html
    db.exec('BEGIN')
    db.prepare('SELECT count(*) FROM sqlite_schema').get()
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
        // A write can be short, on a disk that fills up.
        for (let done = 0; done < bytesRead; )
          done += (await to.write(chunk, done, bytesRead - done, at + done)).bytesWritten
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
