import { monitorEventLoopDelay } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import type { ThreadUsage } from '../domain/desk-reports.ts'

/** Period of the timer whose lateness is measured; delays below it are invisible. */
const RESOLUTION_MS = 20

/** Measures this thread. Each reading covers the time since the previous one. */
export class ThreadMeter {
  readonly #delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS })

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
    const { heapUsed, heapTotal, external, arrayBuffers } = process.memoryUsage()
    return {
      loopDelay,
      ...{ heapUsedBytes: heapUsed, heapTotalBytes: heapTotal },
      heapLimitBytes: getHeapStatistics().heap_size_limit,
      ...{ externalBytes: external, arrayBufferBytes: arrayBuffers },
    }
  }
}

function round(ms: number): number {
  return Math.round(ms * 100) / 100
}
