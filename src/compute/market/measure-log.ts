import type { MeasureHistoryEvent } from '../../domain/external.ts'
import type { MeasureMinute } from '../../domain/history.ts'
import { StepRing } from '../statistics/step-ring.ts'

const MINUTE_MS = 60_000
/** What any measure is compared with. */
export const MEASURE_DAYS_MAX = 7
const MINUTES_KEPT = MEASURE_DAYS_MAX * 1_440
/** Two measures of every coin by each network that may be chosen, and some of the market. More is a defect. */
const SERIES_MAX = 2_048
/**
 * Of every coin, in bps, and shown to two decimals: seven digits are enough for these, and 60 kB a series less. What
 * else is measured, prices among it, is one of few.
 */
const IN_SEVEN_DIGITS = /^(basis|cex-dex)\//
/** Minutes that wait for being taken; whoever takes them comes every few seconds. */
const ENDED_MAX = 8 * SERIES_MAX

/**
 * Our own history of what we measure by external sources: one value a minute and series, a week of them in
 * memory and as long as history keeps them on disk. A minute without a value stays a hole.
 */
export class MeasureLog {
  readonly #series = new Map<string, StepRing>()
  readonly #open = new Map<string, MeasureMinute>()
  #ended: MeasureMinute[] = []
  #dropped = 0

  /** The last value of a minute stands. What is not finite is left out. */
  record(series: string, timeMs: number, value: number): void {
    if (!Number.isFinite(value)) return
    const ring = this.#ring(series)
    if (ring === null) return
    const step = ring.stepOf(timeMs)
    ring.set(step, [value])
    const open = this.#open.get(series)
    const minute = { series, timeMs: step * MINUTE_MS, value }
    this.#open.set(series, minute)
    if (open === undefined || open.timeMs === minute.timeMs) return
    this.#ended.push(open)
    this.#dropped += this.#ended.splice(0, Math.max(0, this.#ended.length - ENDED_MAX)).length
  }

  /** From history. What was measured since the start stands. */
  remember({ series, rows }: MeasureHistoryEvent): void {
    const ring = this.#ring(series)
    if (ring === null) return
    for (const { timeMs, value } of rows) {
      const step = ring.stepOf(timeMs)
      if (!ring.has(step)) ring.set(step, [value])
    }
  }

  /** Values of the minutes that lie between two instants of our clock, oldest first; empty for none. */
  values(series: string, fromMs: number, untilMs: number): Float64Array {
    const ring = this.#series.get(series)
    if (ring === undefined) return new Float64Array(0)
    return ring.values(
      0,
      Math.max(Math.ceil(fromMs / MINUTE_MS), ring.stepOf(untilMs) - MINUTES_KEPT),
      ring.stepOf(untilMs),
    )
  }

  /** Of the minute nearest to an instant; NaN for none within `offMsMax`. */
  near(series: string, timeMs: number, offMsMax: number): number {
    const ring = this.#series.get(series)
    if (ring === undefined) return Number.NaN
    return ring.at(ring.nearest(timeMs, offMsMax), 0)
  }

  /** Minutes that ended since the last call; once each. */
  take(): { readonly minutes: readonly MeasureMinute[]; readonly dropped: number } {
    const taken = { minutes: this.#ended, dropped: this.#dropped }
    this.#ended = []
    this.#dropped = 0
    return taken
  }

  #ring(series: string): StepRing | null {
    const known = this.#series.get(series)
    if (known !== undefined) return known
    if (this.#series.size === SERIES_MAX) return null
    const Numbers = IN_SEVEN_DIGITS.test(series) ? Float32Array : Float64Array
    const ring = new StepRing(MINUTE_MS, MINUTES_KEPT, 1, Numbers)
    this.#series.set(series, ring)
    return ring
  }
}
