import process from 'node:process'

// biome-ignore lint/performance/noBarrelFile: the entry of a worker thread; the pool calls the export by its name
export { renderMarket } from '../compute/analyses/render-market.ts'

/** With 230 coins a job for `/correlation` leaves three times this, all others of ten seconds less. */
const LEFT_BYTES_MAX = 2 ** 20

/**
 * A job of its own after every other, because the pool refers to a job until its document is posted. V8 would let the
 * buffers of several jobs wait and the heap grow meanwhile, and gives memory back after no other kind of collection. It
 * takes 25 ms.
 */
export function collectLargeJob(): void {
  if (process.memoryUsage().arrayBuffers > LEFT_BYTES_MAX)
    globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}
