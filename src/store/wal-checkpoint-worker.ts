import { parentPort } from 'node:worker_threads'
import Database from 'better-sqlite3'

/** Entry of the thread that runs WAL checkpoints: a path in, null or the error out. */
parentPort?.on('message', (path: string) => {
  parentPort?.postMessage(checkpoint(path))
})

function checkpoint(path: string): Error | null {
  let db: Database.Database | undefined
  try {
    db = new Database(path, { fileMustExist: true, timeout: 0 })
    // Log and file reach the disk in the order that survives a power cut.
    db.pragma('synchronous = NORMAL')
    db.pragma('wal_checkpoint(PASSIVE)')
    return null
  } catch (cause) {
    return cause instanceof Error ? cause : new Error(String(cause))
  } finally {
    db?.close()
  }
}
