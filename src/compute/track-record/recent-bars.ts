import type { Bar } from '../../domain/bar.ts'
import type { Timeframe } from '../../domain/timeframe.ts'
import { timeframeMs } from '../../domain/timeframe.ts'
import type { CoinClass } from '../../domain/track-record.ts'
import type { CoinTracker, TrackedCoin } from '../market/coin-tracker.ts'
import { coinTracker } from '../market/coin-tracker.ts'
import { StepRing } from '../statistics/step-ring.ts'
import { coinClassOf } from './coin-class.ts'

const QUARTER_MS = timeframeMs['15m']

/** A day of bars. */
const DAY_BARS = 96

/** The longest horizon, the bar after it, and half a day without candles. */
const BARS_KEPT = DAY_BARS + DAY_BARS / 2 + 1

const FIELDS = 4
const [HIGH, LOW, CLOSE, VOLUME] = [0, 1, 2, 3]

/** Closed 15m bars of the last 36 hours of one coin, by which claims are resolved. They are saved: no history has them. */
export class RecentBars implements CoinTracker {
  readonly #ring = new StepRing(QUARTER_MS, BARS_KEPT, FIELDS)
  #newest = Number.NaN
  /** Cached until a bar closes. */
  #coinClass: CoinClass | null | undefined

  /** By the turnover of the newest 24 hours; null until all their bars are known. */
  get coinClass(): CoinClass | null {
    if (this.#coinClass === undefined) {
      const turnoverUsd = this.#dayTurnoverUsd()
      this.#coinClass = Number.isNaN(turnoverUsd) ? null : coinClassOf(turnoverUsd)
    }
    return this.#coinClass
  }

  closed(timeframe: Timeframe, bar: Bar): void {
    if (timeframe !== '15m') return
    const step = this.#ring.stepOf(bar.openTimeMs)
    this.#set(step, [bar.high, bar.low, bar.close, bar.volumeBase])
  }

  /** USD, of the bar that ended at an instant; NaN if it is unknown. */
  closeAt(endMs: number): number {
    return this.#ring.at(endMs / QUARTER_MS - 1, CLOSE)
  }

  /** Whether all bars between two instants are known. */
  hasAll(fromMs: number, untilMs: number): boolean {
    for (let step = fromMs / QUARTER_MS; step < untilMs / QUARTER_MS; step += 1)
      if (!this.#ring.has(step)) return false
    return true
  }

  /** Bars between two instants, oldest first; null unless all are known. */
  between(fromMs: number, untilMs: number): readonly RecentBar[] | null {
    if (!this.hasAll(fromMs, untilMs)) return null
    const bars: RecentBar[] = []
    for (let step = fromMs / QUARTER_MS; step < untilMs / QUARTER_MS; step += 1)
      bars.push({
        high: this.#ring.at(step, HIGH),
        low: this.#ring.at(step, LOW),
        close: this.#ring.at(step, CLOSE),
        volumeBase: this.#ring.at(step, VOLUME),
      })
    return bars
  }

  /** The number of the first bar, then the four figures of each; NaN for a missing bar. */
  save(): Float64Array {
    if (Number.isNaN(this.#newest)) return new Float64Array()
    const first = this.#newest - BARS_KEPT + 1
    const saved = new Float64Array(1 + BARS_KEPT * FIELDS)
    saved[0] = first
    for (let at = 0; at < BARS_KEPT * FIELDS; at += 1)
      saved[1 + at] = this.#ring.at(first + Math.floor(at / FIELDS), at % FIELDS)
    return saved
  }

  /** A bar that the restored candles have not closed is closed again by them. */
  restore(saved: Float64Array, { ladder }: Pick<TrackedCoin, 'ladder'>): boolean {
    if (saved.length === 0) return true
    if (saved.length !== 1 + BARS_KEPT * FIELDS) return false
    for (let bar = 0; bar < BARS_KEPT; bar += 1) {
      const step = (saved[0] as number) + bar
      const row = saved.subarray(1 + bar * FIELDS, 1 + (bar + 1) * FIELDS)
      const isClosed = (step + 1) * QUARTER_MS <= ladder.closedUntilMs
      if (isClosed && !Number.isNaN(row[0])) this.#set(step, [...row])
    }
    return true
  }

  /** Of the newest 24 hours; NaN unless all their bars are known. */
  #dayTurnoverUsd(): number {
    let turnoverUsd = 0
    for (let step = this.#newest - DAY_BARS + 1; step <= this.#newest; step += 1)
      turnoverUsd += this.#ring.at(step, VOLUME) * this.#ring.at(step, CLOSE)
    return Number.isNaN(this.#newest) ? Number.NaN : turnoverUsd
  }

  #set(step: number, row: readonly number[]): void {
    this.#ring.set(step, row)
    this.#coinClass = undefined
    if (!(step <= this.#newest)) this.#newest = step
  }
}

export type RecentBar = Omit<Bar, 'openTimeMs' | 'open'>

export const recentBars = coinTracker('market/recent-bars', () => new RecentBars())
