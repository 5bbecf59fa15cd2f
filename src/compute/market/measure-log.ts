import type { MeasureHistoryEvent } from '../../domain/external.ts'
import type { MeasureMinute } from '../../domain/history.ts'
import { StepRing } from '../statistics/step-ring.ts'

const MINUTE_MS = 60_000
/** Longest window of any measure. */
export const MEASURE_DAYS_MAX = 7
const MINUTES_KEPT = MEASURE_DAYS_MAX * 1_440
/** Measures whose longest window is a day: a week of each of them would take 9 MB more at 230 coins. */
const OF_A_DAY = /^(?:cex-dex\/|arb\/(?!index$)|depeg\/(?:low|high)$)/
/** An hour more than a day, because a window may end some minutes before the newest value. */
const DAY_MINUTES_KEPT = 25 * 60
/** Two measures of each coin and network, and some of the whole market. */
const SERIES_MAX = 2_048
/** Measures of one coin. They are in bps with two decimals: Float32 is precise enough and saves 60 kB a series. */
const OF_A_COIN = /^(?:basis|cex-dex)\/([^/]+)/
/** Minutes kept until they are taken, which happens every few seconds. */
const ENDED_MAX = 8 * SERIES_MAX

/**
 * Minute values of what external sources are used to measure: a week or a day in memory, longer on disk. A minute
 * without a value stays empty.
 */
export class MeasureLog {
  readonly #series = new Map<string, StepRing>()
  readonly #open = new Map<string, MeasureMinute>()
  #ended: MeasureMinute[] = []
  #dropped = 0

  /** Sets the value of a minute; its last value counts. Ignores values that are not finite. */
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

  /** Adds stored minutes from an instant on. Minutes measured since the start are kept. */
  load({ series, rows }: MeasureHistoryEvent, fromMs = Number.NEGATIVE_INFINITY): void {
    const ring = this.#ring(series)
    if (ring === null) return
    for (const { timeMs, value } of rows) {
      const step = ring.stepOf(timeMs)
      if (timeMs >= fromMs && !ring.has(step)) ring.set(step, [value])
    }
  }

  /** Removes the measures of a coin. */
  forget(coin: string): void {
    for (const series of this.#series.keys())
      if (coinOfMeasure(series) === coin) this.#series.delete(series)
  }

  /** Values of the minutes between two instants of our clock, oldest first. */
  values(series: string, fromMs: number, untilMs: number): Float64Array {
    const ring = this.#series.get(series)
    if (ring === undefined) return new Float64Array(0)
    return ring.values(0, ...stepsOf(ring, fromMs, untilMs))
  }

  /** Values of the last `count` minutes, the one of an instant included, oldest first; NaN where missing. */
  minutes(series: string, nowMs: number, count: number): Float64Array {
    const ring = this.#series.get(series)
    if (ring === undefined) return new Float64Array(count).fill(Number.NaN)
    return ring.upTo(0, ring.stepOf(nowMs), count)
  }

  /** Rank of a value among those of {@link values}, 0 to 100, ties counted half; NaN for none. */
  percentile(series: string, fromMs: number, untilMs: number, value: number): number {
    const ring = this.#series.get(series)
    if (ring === undefined) return Number.NaN
    return ring.percentile(0, ...stepsOf(ring, fromMs, untilMs), value)
  }

  /** Value of the minute nearest to an instant; NaN for none within `offMsMax`. */
  near(series: string, timeMs: number, offMsMax: number): number {
    const ring = this.#series.get(series)
    if (ring === undefined) return Number.NaN
    return ring.at(ring.nearest(timeMs, offMsMax), 0)
  }

  /** Minutes that ended since the last call. */
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
    const Numbers = OF_A_COIN.test(series) ? Float32Array : Float64Array
    const ring = new StepRing(MINUTE_MS, measureMsKept(series) / MINUTE_MS, 1, Numbers)
    this.#series.set(series, ring)
    return ring
  }
}

/** How far back the log holds a measure. */
export function measureMsKept(series: string): number {
  return (OF_A_DAY.test(series) ? DAY_MINUTES_KEPT : MINUTES_KEPT) * MINUTE_MS
}

/** The coin of a measure of one coin; undefined for a measure of the market. */
export function coinOfMeasure(series: string): string | undefined {
  return OF_A_COIN.exec(series)?.[1]
}

function stepsOf(ring: StepRing, fromMs: number, untilMs: number): [number, number] {
  const last = ring.stepOf(untilMs)
  return [Math.max(Math.ceil(fromMs / MINUTE_MS), last - MINUTES_KEPT), last]
}
