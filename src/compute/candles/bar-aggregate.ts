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
  #openTimeMs = Number.NaN
  #nextQuarterMs = Number.NaN
  #open = 0
  #high = 0
  #low = 0
  #close = 0
  #volumeBase = 0

  constructor(timeframe: Timeframe) {
    this.#timeframe = timeframe
  }

  /** Starts with the coin's first 15m bar: the longer bar that holds it has no earlier part. */
  beginWith(first: Bar): void {
    this.#openTimeMs = barOpenTimeMs(first.openTimeMs, this.#timeframe)
    this.#nextQuarterMs = first.openTimeMs
    this.#volumeBase = 0
  }

  /**
   * Adds the next closed 15m bar. A bar that does not follow the one before starts over at the next boundary.
   * @returns the longer bar that this one completes, else null
   */
  add(bar: Bar): Bar | null {
    const openTimeMs = barOpenTimeMs(bar.openTimeMs, this.#timeframe)
    if (bar.openTimeMs === openTimeMs) this.#start(bar)
    else if (bar.openTimeMs === this.#nextQuarterMs) this.#extend(bar)
    else this.#nextQuarterMs = Number.NaN
    if (Number.isNaN(this.#nextQuarterMs)) return null
    const endMs = openTimeMs + timeframeMs[this.#timeframe]
    return this.#nextQuarterMs === endMs ? this.#complete() : null
  }

  /** The forming longer bar when `open` is its forming 15m bar, or null when its start is unknown. */
  merged(open: Bar): Bar | null {
    if (open.openTimeMs === barOpenTimeMs(open.openTimeMs, this.#timeframe)) return open
    if (open.openTimeMs !== this.#nextQuarterMs) return null
    if (this.#volumeBase === 0) return { ...open, openTimeMs: this.#openTimeMs }
    return {
      openTimeMs: this.#openTimeMs,
      open: this.#open,
      high: Math.max(this.#high, open.high),
      low: Math.min(this.#low, open.low),
      close: open.close,
      volumeBase: this.#volumeBase + open.volumeBase,
    }
  }

  /** Removes all bars. */
  reset(): void {
    this.#nextQuarterMs = Number.NaN
  }

  save(): number[] {
    return [
      this.#openTimeMs,
      this.#nextQuarterMs,
      this.#open,
      this.#high,
      this.#low,
      this.#close,
      this.#volumeBase,
    ]
  }

  restore(saved: Float64Array): void {
    assert.equal(saved.length, AGGREGATE_FIELDS, 'a saved aggregate has seven fields')
    const [openTimeMs, nextQuarterMs, open, high, low, close, volumeBase] = saved
    this.#openTimeMs = openTimeMs as number
    this.#nextQuarterMs = nextQuarterMs as number
    this.#open = open as number
    this.#high = high as number
    this.#low = low as number
    this.#close = close as number
    this.#volumeBase = volumeBase as number
  }

  #start(bar: Bar): void {
    this.#openTimeMs = bar.openTimeMs
    this.#nextQuarterMs = bar.openTimeMs + timeframeMs['15m']
    this.#take(bar)
  }

  #take(bar: Bar): void {
    this.#open = bar.open
    this.#high = bar.high
    this.#low = bar.low
    this.#close = bar.close
    this.#volumeBase = bar.volumeBase
  }

  #extend(bar: Bar): void {
    this.#nextQuarterMs += timeframeMs['15m']
    // A bar opens with its first trade: a 15m bar without trades only repeats the last close.
    if (this.#volumeBase === 0) {
      this.#take(bar)
      return
    }
    this.#high = Math.max(this.#high, bar.high)
    this.#low = Math.min(this.#low, bar.low)
    this.#close = bar.close
    this.#volumeBase += bar.volumeBase
  }

  #complete(): Bar {
    this.#nextQuarterMs = Number.NaN
    return {
      openTimeMs: this.#openTimeMs,
      open: this.#open,
      high: this.#high,
      low: this.#low,
      close: this.#close,
      volumeBase: this.#volumeBase,
    }
  }
}

export const AGGREGATE_FIELDS = 7
