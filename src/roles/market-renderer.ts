import { join } from 'node:path'
import { Piscina } from 'piscina'
import type { MarketJob } from '../compute/analysis.ts'
import type { Document } from '../domain/document.ts'
import { renderMarket } from '../workers/market-worker.ts'

/** Makes documents about all coins while the engine goes on. */
export type MarketRenderer = {
  /** Calls exactly one of the two: a worker dies, or takes too long, and then the next one is started. */
  render(job: MarketJob, onDone: (document: Document) => void, onFailed: OnFailed): void
  close(): void
}

type OnFailed = (cause: unknown) => void

/** A job takes some milliseconds; a worker that is still busy then never ends. */
const JOB_MS_MAX = 30_000

const WORKER_FILE = join(import.meta.dirname, '../workers/market-worker.js')

/**
 * A worker thread of its own.
 * @param onDied hears of a worker that ended by itself; its job fails, and the next one starts another
 * @param workerFile compiled, because a thread loads it by itself
 */
export function threadRenderer(
  onDied: (cause: unknown) => void,
  workerFile = WORKER_FILE,
): MarketRenderer {
  const pool = new Piscina<MarketJob, Document>({
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
    },
    close: () => void pool.destroy(),
  }
}

/** In this thread, at once: for whoever has time, or must not depend on when a worker is done. */
export const ownThreadRenderer: MarketRenderer = {
  render: (job, onDone) => onDone(renderMarket(job)),
  close: () => {},
}
