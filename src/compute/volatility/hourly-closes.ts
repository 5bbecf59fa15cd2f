import type { Bar } from '../../domain/bar.ts'
import type { CoinEvent, HourlyHistoryEvent } from '../../domain/event.ts'
import type { Timeframe } from '../../domain/timeframe.ts'
import { timeframeMs } from '../../domain/timeframe.ts'
import type { CoinTracker } from '../market/coin-tracker.ts'
import { coinTracker } from '../market/coin-tracker.ts'
import { StepRing } from '../statistics/step-ring.ts'

const HOUR_MS = timeframeMs['1h']

/** The longest window that is read: the 30 days of hourly returns of /correlation, as they were a week ago. */
export const CLOSES_READ = (30 + 7) * 24 + 1

/** What is read, and a day that may close while the rest is being read. */
const HOURS_KEPT = CLOSES_READ + 24

/** The newest hours come by themselves, from the candles: only what is older is asked for. */
const OWN_HOURS = 2

/** As for the candles: within it after its end a bar may still change. */
export const CLOSING_GRACE_MS = 3_000

const CLOSE = 0
const NOTHING_SAVED = new Float64Array()

/**
 * Closes of a coin's hours, by the number of the hour since the Unix epoch: from its candles as they close,
 * and from history for what was before. The last word on an hour counts. History brings all of it back, so
 * nothing is saved.
 */
export class HourlyCloses implements CoinTracker {
  readonly hears = ['hourly-history'] as const
  readonly #closes = new StepRing(HOUR_MS, HOURS_KEPT, 1)
  #newestHour = Number.NaN
  /** The venue was asked: what lacks up to this hour, it does not have. */
  #askedHour = Number.NEGATIVE_INFINITY
  #changedFromHour = Number.POSITIVE_INFINITY
  #revision = 0

  /** Rises with every change to any hour. */
  get revision(): number {
    return this.#revision
  }

  /** The last hour that has a close; NaN before any. */
  get newestHour(): number {
    return this.#newestHour
  }

  /** NaN for an hour that is not known. USD. */
  close(hour: number): number {
    return this.#closes.at(hour, CLOSE)
  }

  /** ln(close / the close before); NaN unless both hours are known. */
  logReturn(hour: number): number {
    return Math.log(this.close(hour) / this.close(hour - 1))
  }

  /**
   * The first hour whose close changed since the last call; Infinity for none. For one reader: whoever
   * keeps something that depends on the closes.
   */
  takeChangedFromHour(): number {
    const hour = this.#changedFromHour
    this.#changedFromHour = Number.POSITIVE_INFINITY
    return hour
  }

  /** Open time of the first hour that has to be asked of the venue; null while nothing lacks. */
  needFromMs(nowVenueMs: number): number | null {
    const end = this.#closes.stepOf(nowVenueMs) - OWN_HOURS
    const first = Math.max(end - CLOSES_READ + OWN_HOURS, this.#askedHour + 1)
    for (let hour = first; hour < end; hour += 1) if (!this.#closes.has(hour)) return hour * HOUR_MS
    return null
  }

  /** A bar of the candles ended. */
  closed(timeframe: Timeframe, bar: Bar): void {
    if (timeframe === '1h') this.#record(bar)
  }

  apply(event: CoinEvent): void {
    if (event.kind === 'hourly-history') this.#remember(event)
  }

  save(): Float64Array {
    return NOTHING_SAVED
  }

  restore(): boolean {
    return true
  }

  #remember({ bars, timeExchangeMs, isRemembered }: HourlyHistoryEvent): void {
    for (const bar of bars)
      if (bar.openTimeMs + HOUR_MS + CLOSING_GRACE_MS <= timeExchangeMs) this.#record(bar)
    if (!isRemembered)
      this.#askedHour = Math.max(this.#askedHour, this.#closes.stepOf(timeExchangeMs) - OWN_HOURS)
  }

  #record({ openTimeMs, close }: Bar): void {
    const hour = this.#closes.stepOf(openTimeMs)
    if (!(close > 0 && close < Number.POSITIVE_INFINITY) || this.close(hour) === close) return
    this.#closes.set(hour, [close])
    this.#revision += 1
    if (!(hour <= this.#newestHour)) this.#newestHour = hour
    this.#changedFromHour = Math.min(this.#changedFromHour, hour)
  }
}

export const hourlyCloses = coinTracker('market/hourly-closes', () => new HourlyCloses())
