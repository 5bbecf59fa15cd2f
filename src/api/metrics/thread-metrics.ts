import type { Registry } from 'prom-client'
import { Gauge } from 'prom-client'
import type { ThreadUsage } from '../../domain/desk-reports.ts'

/** Readings of one per second. */
const READINGS_MAX = 60

/** The readings of one thread in the last minute, so that a scrape sees delays between scrapes. */
export class ThreadReadings {
  readonly #readings: ThreadUsage[] = []

  add(usage: ThreadUsage): void {
    this.#readings.push(usage)
    if (this.#readings.length > READINGS_MAX) this.#readings.shift()
  }

  /** For a thread that sends nothing any more. */
  clear(): void {
    this.#readings.length = 0
  }

  /** null before the first. */
  get newest(): ThreadUsage | null {
    return this.#readings.at(-1) ?? null
  }

  /** Largest value of the last minute, seconds. */
  largestSeconds(of: 'p99Ms' | 'maxMs'): number {
    return Math.max(0, ...this.#readings.map(({ loopDelay }) => loopDelay?.[of] ?? 0)) / 1_000
  }
}

/** Event loop and memory by thread. */
export function measureThreads(
  metrics: Registry,
  threads: Readonly<Record<string, ThreadReadings>>,
): void {
  const gauge = (
    name: string,
    help: string,
    read: (usage: ThreadUsage, readings: ThreadReadings) => number,
  ) =>
    new Gauge({
      ...{ name, help, labelNames: ['thread'], registers: [metrics] },
      collect() {
        this.reset()
        for (const [thread, readings] of Object.entries(threads)) {
          const { newest } = readings
          if (newest !== null) this.set({ thread }, read(newest, readings))
        }
      },
    })
  gauge(
    'perpscope_event_loop_delay_max_seconds',
    'Longest delay of the event loop in the last minute.',
    (_, readings) => readings.largestSeconds('maxMs'),
  )
  gauge(
    'perpscope_event_loop_delay_p99_seconds',
    'Largest 99th percentile of the delays of the event loop within a second, in the last minute.',
    (_, readings) => readings.largestSeconds('p99Ms'),
  )
  gauge('perpscope_heap_used_bytes', 'Used heap of JavaScript.', (usage) => usage.heapUsedBytes)
  gauge(
    'perpscope_heap_size_bytes',
    'Reserved heap of JavaScript.',
    (usage) => usage.heapTotalBytes,
  )
  gauge(
    'perpscope_heap_limit_bytes',
    'Size at which V8 ends the thread.',
    (usage) => usage.heapLimitBytes,
  )
  gauge(
    'perpscope_external_memory_bytes',
    'Memory outside the heap, array buffers included.',
    (usage) => usage.externalBytes,
  )
}
