import type { Bar } from '../../domain/bar.ts'
import type { CoinEvent } from '../../domain/event.ts'
import { timeframeMs } from '../../domain/timeframe.ts'
import type { CoinTracker, TrackedCoin } from '../market/coin-tracker.ts'
import { coinTracker } from '../market/coin-tracker.ts'
import { percentileOf } from '../statistics/series-statistics.ts'
import { StepRing } from '../statistics/step-ring.ts'

const HOUR_MS = timeframeMs['1h']
const QUARTER_MS = timeframeMs['15m']
const QUARTERS_PER_HOUR = 4

export const VOLATILITY_WINDOW_HOURS = 720
/** A week: with fewer hours a rank describes the week instead of the coin. */
export const VOLATILITY_HOURS_MIN = 168
/** The weight of the first range in Wilder's average falls to a millionth. */
const WARM_UP_HOURS = 200
const ATR_HOURS = 14
/** The forming hour, and room for a venue clock that is ahead. */
const HOURS_KEPT = VOLATILITY_WINDOW_HOURS + WARM_UP_HOURS + 3
/** The forming hour and the one before, whose last 15m bar may be revised. */
const QUARTERS_KEPT = 2 * QUARTERS_PER_HOUR

const [HIGH, LOW, CLOSE] = [0, 1, 2]
const SAVED_FIELDS = 5
/** Equal ranges summed from another first hour may differ by this share. */
const SUMMATION_OFF_MAX = 1e-9
const PRICE_OFF_MS_MAX = 6 * HOUR_MS
const EMPTY = new Float64Array()

type Quarter = Omit<Bar, 'open'>

/**
 * Hourly volatility of a coin against its last 30 days: ATR 14 of every closed hour as percent of its close. Hours are
 * built from 15m bars and loaded from hourly history, which also restores those before a restart.
 */
export class VolatilitySeries implements CoinTracker {
  readonly inputs = ['hourly-history', 'history', 'candle', 'context'] as const
  readonly #hours = new StepRing(HOUR_MS, HOURS_KEPT, 3)
  #quarters = new StepRing(QUARTER_MS, QUARTERS_KEPT, 4)
  /** From here on a missing 15m bar had no trades. */
  #knownFromQuarter = Number.POSITIVE_INFINITY
  /** Newest state of the forming 15m bar, which is added when its hour is over or a reader asks. */
  #forming: Quarter | null = null
  /** Last closed hour; NaN before any. */
  #lastHour = Number.NaN
  /** A closed hour was revised after it was measured. */
  #isChanged = false
  /** ATR % of the hours of the window, ascending. */
  #ascending: Float64Array = EMPTY
  /** Of the last closed hour; NaN before any. */
  #newestAtrPct = Number.NaN

  /** Number of hours that {@link percentile} ranks among. */
  get hours(): number {
    return this.#ascending.length
  }

  /** Rank of an ATR % among the coin's own hours, 0 to 100; null for fewer than 168 hours. */
  percentile(atrPct: number): number | null {
    if (this.hours < VOLATILITY_HOURS_MIN || Number.isNaN(atrPct)) return null
    return percentileOf(this.#ascending, atrPct)
  }

  /**
   * Rank of the present ATR %: of the last closed hour, or with the forming hour once that is higher. The range of a
   * forming hour only grows, so a lower value is no reading of an hour yet.
   */
  presentPercentile(formingAtrPct: number): number | null {
    if (Number.isNaN(formingAtrPct)) return null
    const isHigher = formingAtrPct > this.#newestAtrPct * (1 + SUMMATION_OFF_MAX)
    return this.percentile(isHigher ? formingAtrPct : this.#newestAtrPct)
  }

  /** Last price before an instant, by the venue's clock; NaN for none within six hours. */
  priceAt(timeMs: number): number {
    this.#takeForming()
    const openTimeMs = (this.#hours.stepOf(timeMs) - 1) * HOUR_MS
    const hour = this.#hours.nearest(openTimeMs, PRICE_OFF_MS_MAX)
    return Number.isNaN(hour) ? Number.NaN : this.#hours.at(hour, CLOSE)
  }

  apply(event: CoinEvent, coin: TrackedCoin): void {
    if (event.kind === 'candle') {
      if (event.timeframe === '15m') this.#hear(event.bar)
    } else if (event.kind !== 'context') {
      this.#takeForming()
      if (event.kind === 'hourly-history')
        for (const { openTimeMs, high, low, close } of event.bars)
          this.#setHour(this.#hours.stepOf(openTimeMs), high, low, close)
      else if (event.kind === 'history' && event.timeframe === '15m') this.#takeHistory(event.bars)
    }
    this.#close(coin)
  }

  /** The last 15m bars, whose hour is in no history yet. */
  save(): Float64Array {
    this.#takeForming()
    return Float64Array.from(
      this.#quarters.steps().flatMap((step) => [step * QUARTER_MS, ...this.#quarters.row(step)]),
    )
  }

  restore(saved: Float64Array): boolean {
    if (saved.length % SAVED_FIELDS !== 0) return false
    for (let at = 0; at < saved.length; at += SAVED_FIELDS) {
      const [openTimeMs, high, low, close, volumeBase] = saved.subarray(at, at + SAVED_FIELDS)
      this.#takeQuarter({ openTimeMs, high, low, close, volumeBase } as Quarter)
    }
    return true
  }

  /** A 15m bar arrives again with every trade: its last state counts, unless its hour is already over. */
  #hear(bar: Quarter): void {
    if (this.#forming?.openTimeMs !== bar.openTimeMs) this.#takeForming()
    this.#forming = bar
    if (!(bar.openTimeMs >= (this.#lastHour + 1) * HOUR_MS)) this.#takeForming()
  }

  #takeForming(): void {
    if (this.#forming === null) return
    this.#takeQuarter(this.#forming)
    this.#forming = null
  }

  /**
   * The gap may be longer than the kept 15m bars, so they are replaced: by those before the history, the history, and
   * those received since the request.
   */
  #takeHistory(bars: readonly Bar[]): void {
    const [first, last] = [bars[0], bars.at(-1)]
    if (first === undefined || last === undefined) return
    const kept = this.#keptQuarters()
    this.#quarters = new StepRing(QUARTER_MS, QUARTERS_KEPT, 4)
    this.#knownFromQuarter = Number.POSITIVE_INFINITY
    for (const bar of kept) if (bar.openTimeMs < first.openTimeMs) this.#takeQuarter(bar)
    for (const bar of bars) this.#takeQuarter(bar)
    for (const bar of kept) {
      const isNewer =
        bar.openTimeMs > last.openTimeMs ||
        (bar.openTimeMs === last.openTimeMs && bar.volumeBase > last.volumeBase)
      if (isNewer) this.#takeQuarter(bar)
    }
  }

  #keptQuarters(): readonly Quarter[] {
    return this.#quarters.steps().map((quarter) => {
      const [high, low, close, volumeBase] = this.#quarters.row(quarter)
      return { openTimeMs: quarter * QUARTER_MS, high, low, close, volumeBase } as Quarter
    })
  }

  /** Sets one 15m bar and rebuilds its hour. */
  #takeQuarter({ openTimeMs, high, low, close, volumeBase }: Quarter): void {
    const quarter = this.#quarters.stepOf(openTimeMs)
    if (quarter <= this.#quarters.newestStep - QUARTERS_KEPT) return
    this.#quarters.set(quarter, [high, low, close, volumeBase])
    this.#knownFromQuarter = Math.min(this.#knownFromQuarter, quarter)
    const hour = this.#hours.stepOf(openTimeMs)
    const firstQuarter = hour * QUARTERS_PER_HOUR
    const isWhole =
      firstQuarter >= this.#knownFromQuarter &&
      firstQuarter > this.#quarters.newestStep - QUARTERS_KEPT
    if (isWhole) this.#join(hour)
  }

  /** A 15m bar without trades only repeats the close before it, which the range includes anyway. */
  #join(hour: number): void {
    let high = Number.NEGATIVE_INFINITY
    let low = Number.POSITIVE_INFINITY
    let close = Number.NaN
    const first = hour * QUARTERS_PER_HOUR
    for (const quarter of this.#quarters.steps(first, first + QUARTERS_PER_HOUR - 1)) {
      high = Math.max(high, this.#quarters.at(quarter, HIGH))
      low = Math.min(low, this.#quarters.at(quarter, LOW))
      close = this.#quarters.at(quarter, CLOSE)
    }
    this.#setHour(hour, high, low, close)
  }

  #setHour(hour: number, high: number, low: number, close: number): void {
    const hours = this.#hours
    const isSame =
      hours.at(hour, HIGH) === high &&
      hours.at(hour, LOW) === low &&
      hours.at(hour, CLOSE) === close
    if (isSame) return
    hours.set(hour, [high, low, close])
    if (!(hour > this.#lastHour)) this.#isChanged = true
  }

  /** Measures again after an hour closed or was revised. */
  #close({ ladder }: TrackedCoin): void {
    const lastHour = Math.floor(ladder.closedUntilMs / HOUR_MS) - 1
    if (Number.isNaN(lastHour)) return
    if (lastHour === this.#lastHour && !this.#isChanged) return
    this.#takeForming()
    if (ladder.isContinuous) this.#fillFlat(lastHour)
    this.#lastHour = lastHour
    this.#isChanged = false
    const values = this.#measure()
    this.#newestAtrPct = values.at(-1) ?? Number.NaN
    this.#ascending = values.toSorted()
  }

  /** An hour that the ladder closed without candles had no trades. */
  #fillFlat(lastHour: number): void {
    if (Number.isNaN(this.#lastHour)) return
    for (let hour = this.#lastHour + 1; hour <= lastHour; hour += 1) {
      const close = this.#hours.at(hour - 1, CLOSE)
      if (!this.#hours.has(hour) && !Number.isNaN(close))
        this.#hours.set(hour, [close, close, close])
    }
  }

  /** ATR % of the closed hours of the window, oldest first. */
  #measure(): Float64Array {
    const values = new Float64Array(VOLATILITY_WINDOW_HOURS)
    let [count, ranges, atr, previousClose] = [0, 0, 0, Number.NaN]
    const firstHour = this.#lastHour - VOLATILITY_WINDOW_HOURS + 1
    for (let hour = firstHour - WARM_UP_HOURS; hour <= this.#lastHour; hour += 1) {
      if (!this.#hours.has(hour)) continue
      const [high, low] = [this.#hours.at(hour, HIGH), this.#hours.at(hour, LOW)]
      const close = this.#hours.at(hour, CLOSE)
      if (!Number.isNaN(previousClose)) {
        const range = Math.max(high, previousClose) - Math.min(low, previousClose)
        ranges += 1
        const weight = Math.min(ranges, ATR_HOURS)
        atr += (range - atr) / weight
        if (ranges >= ATR_HOURS && hour >= firstHour && close > 0) {
          values[count] = (atr / close) * 100
          count += 1
        }
      }
      previousClose = close
    }
    return values.subarray(0, count)
  }
}

export const volatilitySeries = coinTracker('market/volatility', () => new VolatilitySeries())
