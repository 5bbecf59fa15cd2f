import { monitorEventLoopDelay } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import type { ThreadUsage } from '../domain/desk-reports.ts'
import { isWithoutDescriptors } from './file-descriptors.ts'

/** Period of the timer whose lateness is measured; delays below it are invisible. */
const RESOLUTION_MS = 20

/** Measures this thread. Each reading covers the time since the previous one. */
export class ThreadMeter {
  readonly #delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  readonly #arrayBufferBytes = lastReading(() => process.memoryUsage().arrayBuffers)

  constructor() {
    this.#delays.enable()
  }

  read(): ThreadUsage {
    const delays = this.#delays
    // The histogram has the time between two runs of the timer, of which its period is no delay.
    const delayMs = (ns: number) => Math.max(0, round(ns / 1e6 - RESOLUTION_MS))
    const loopDelay =
      delays.count === 0
        ? null
        : {
            p50Ms: delayMs(delays.percentile(50)),
            p99Ms: delayMs(delays.percentile(99)),
            maxMs: delayMs(delays.max),
          }
    delays.reset()
    const heap = getHeapStatistics()
    return {
      loopDelay,
      ...{ heapUsedBytes: heap.used_heap_size, heapTotalBytes: heap.total_heap_size },
      heapLimitBytes: heap.heap_size_limit,
      ...{ externalBytes: heap.external_memory, arrayBufferBytes: this.#arrayBufferBytes() },
    }
  }
}

/**
 * A reading for which Node opens a file of /proc. Without a free file descriptor it fails, and the one before stands for
 * it: a measurement must not end what it measures.
 */
export function lastReading(read: () => number): () => number {
  let last = 0
  return () => {
    try {
      last = read()
    } catch (cause) {
      if (!isWithoutDescriptors(cause)) throw cause
    }
    return last
  }
}

function round(ms: number): number {
  return Math.round(ms * 100) / 100
}
