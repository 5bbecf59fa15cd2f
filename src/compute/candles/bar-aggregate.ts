import assert from 'node:assert/strict'
import type { Bar } from '../../domain/bar.ts'
import type { Timeframe } from '../../domain/timeframe.ts'
import { barOpenTimeMs, timeframeMs } from '../../domain/timeframe.ts'

/**
 * Aggregates 15m bars into bars of a longer timeframe, which on this venue equals its own 1h and 4h bars. A bar whose
 * first 15m bar is missing is never returned.
 */
export class BarAggregate {
  readonly #timeframe: Timeframe
  #bar: Bar = { openTimeMs: Number.NaN, open: 0, high: 0, low: 0, close: 0, volumeBase: 0 }
  #nextQuarterMs = Number.NaN

  constructor(timeframe: Timeframe) {
    this.#timeframe = timeframe
  }

  /** Starts with the coin's first 15m bar: the longer bar that holds it has no earlier part. */
  beginWith(first: Bar): void {
    const openTimeMs = barOpenTimeMs(first.openTimeMs, this.#timeframe)
    this.#bar = { ...this.#bar, openTimeMs, volumeBase: 0 }
    this.#nextQuarterMs = first.openTimeMs
  }

  /**
   * Adds the next closed 15m bar. A bar that does not follow the one before starts over at the next boundary.
   * @returns the longer bar that this one completes, else null
   */
  add(bar: Bar): Bar | null {
    const openTimeMs = barOpenTimeMs(bar.openTimeMs, this.#timeframe)
    if (bar.openTimeMs === openTimeMs) this.#bar = bar
    else if (bar.openTimeMs === this.#nextQuarterMs) this.#bar = joined(this.#bar, bar)
    else {
      this.#nextQuarterMs = Number.NaN
      return null
    }
    this.#nextQuarterMs = bar.openTimeMs + timeframeMs['15m']
    if (this.#nextQuarterMs !== openTimeMs + timeframeMs[this.#timeframe]) return null
    this.#nextQuarterMs = Number.NaN
    return this.#bar
  }

  /** The forming longer bar when `open` is its forming 15m bar, or null when its start is unknown. */
  merged(open: Bar): Bar | null {
    if (open.openTimeMs === barOpenTimeMs(open.openTimeMs, this.#timeframe)) return open
    if (open.openTimeMs !== this.#nextQuarterMs) return null
    return joined(this.#bar, open)
  }

  /** Removes all bars. */
  reset(): void {
    this.#nextQuarterMs = Number.NaN
  }

  save(): number[] {
    const { openTimeMs, open, high, low, close, volumeBase } = this.#bar
    return [openTimeMs, this.#nextQuarterMs, open, high, low, close, volumeBase]
  }

  restore(saved: Float64Array): void {
    assert.equal(saved.length, AGGREGATE_FIELDS, 'a saved aggregate has seven fields')
    const [openTimeMs, nextQuarterMs, open, high, low, close, volumeBase] = saved
    this.#bar = { openTimeMs, open, high, low, close, volumeBase } as Bar
    this.#nextQuarterMs = nextQuarterMs as number
  }
}

/** A bar opens with its first trade: a 15m bar without trades only repeats the last close. */
function joined(longer: Bar, bar: Bar): Bar {
  if (longer.volumeBase === 0) return { ...bar, openTimeMs: longer.openTimeMs }
  return {
    ...longer,
    high: Math.max(longer.high, bar.high),
    low: Math.min(longer.low, bar.low),
    close: bar.close,
    volumeBase: longer.volumeBase + bar.volumeBase,
  }
}

export const AGGREGATE_FIELDS = 7
