import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { WalCheckpointer } from './wal-checkpoint.ts'

const WORKER_FILE = join(import.meta.dirname, '../store/wal-checkpoint-worker.js')
/** The code of SQLite's binding and one string at a time. */
const HEAP_MB_MAX = 16

export type WalCheckpointThread = {
  readonly checkpoint: WalCheckpointer
  close(): void
}

/**
 * A thread that runs WAL checkpoints one after the other. It starts with the first one and ends after the last: its
 * memory (18 MB) would lie idle for seconds, and a start takes 40 ms of another core.
 * @param workerFile compiled, because a thread loads it by itself
 */
export function walCheckpointThread(workerFile = WORKER_FILE): WalCheckpointThread {
  const waiting: ((error: Error | null) => void)[] = []
  let worker: Worker | null = null
  const started = () => {
    const thread = new Worker(workerFile, {
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB_MAX },
    })
    thread.unref()
    thread.on('message', (error: Error | null) => {
      waiting.shift()?.(error)
      if (waiting.length > 0) return
      worker = null
      void thread.terminate()
    })
    thread.on('error', (error) => {
      worker = null
      for (const done of waiting.splice(0)) done(error)
    })
    return thread
  }
  return {
    checkpoint: (path, done) => {
      worker ??= started()
      waiting.push(done)
      worker.postMessage(path)
    },
    close: () => void worker?.terminate(),
  }
}
