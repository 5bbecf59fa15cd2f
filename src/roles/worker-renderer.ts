import { join } from 'node:path'
import { Piscina } from 'piscina'
import type { MarketJob } from '../compute/analysis.ts'
import type { Document } from '../domain/document.ts'
import type { MarketRenderer } from '../engine/market-renderer.ts'

/** A job takes some milliseconds; a worker that exceeds this hangs, and is replaced. */
const JOB_MS_MAX = 30_000

const WORKER_FILE = join(import.meta.dirname, '../workers/market-worker.js')

/**
 * Renders in one worker thread, so that the engine continues in the meantime.
 * @param onDied receives the error of a worker that ended; its job fails, and the next job starts another worker
 * @param workerFile a compiled file, because the thread loads it directly
 */
export function workerRenderer(
  onDied: (cause: unknown) => void,
  workerFile = WORKER_FILE,
): MarketRenderer {
  const pool = new Piscina<MarketJob | undefined, Document>({
    filename: workerFile,
    minThreads: 1,
    maxThreads: 1,
    idleTimeout: Number.POSITIVE_INFINITY,
  })
  pool.on('error', onDied)
  return {
    render: (job, onDone, onFailed) => {
      pool
        .run(job, { name: 'renderMarket', signal: AbortSignal.timeout(JOB_MS_MAX) })
        .then(onDone, onFailed)
      // In vain where the pool is closed before.
      pool.run(undefined, { name: 'collectLargeJob' }).catch(() => {})
    },
    close: () => void pool.destroy(),
  }
}
