import type { Bar } from '../../domain/bar.ts'
import type { CoinEvent, HourlyHistoryEvent } from '../../domain/event.ts'
import type { Timeframe } from '../../domain/timeframe.ts'
import { timeframeMs } from '../../domain/timeframe.ts'
import { CLOSING_GRACE_MS } from '../candles/candle-ladder.ts'
import type { CoinTracker } from '../market/coin-tracker.ts'
import { coinTracker } from '../market/coin-tracker.ts'
import { StepRing } from '../statistics/step-ring.ts'

const HOUR_MS = timeframeMs['1h']

/** Longest window of a reader: 30 days of hourly returns of /correlation, as of a week ago. */
export const CLOSES_READ = (30 + 7) * 24 + 1

/** One day more: hours may close while the rest is being read. */
const HOURS_KEPT = CLOSES_READ + 24

/** Newest hours, which come from the candles and are not requested. */
const OWN_HOURS = 2

const CLOSE = 0
/**
 * Hourly closes of a coin by the number of the hour since the Unix epoch, from candles and hourly history. The last
 * value of an hour counts. Nothing is saved, because history restores everything.
 */
export class HourlyCloses implements CoinTracker {
  readonly inputs = ['hourly-history'] as const
  readonly #closes = new StepRing(HOUR_MS, HOURS_KEPT, 1)
  #newestHour = Number.NaN
  /** Hours up to here were requested: a missing one does not exist at the venue. */
  #askedHour = Number.NEGATIVE_INFINITY
  #revision = 0

  /** Rises with every change. */
  get revision(): number {
    return this.#revision
  }

  /** Last hour with a close; NaN before any. */
  get newestHour(): number {
    return this.#newestHour
  }

  /** USD. NaN for an unknown hour. */
  close(hour: number): number {
    return this.#closes.at(hour, CLOSE)
  }

  /** ln(close / previous close); NaN unless both hours are known. */
  logReturn(hour: number): number {
    return Math.log(this.close(hour) / this.close(hour - 1))
  }

  /** Open time of the first hour to request from the venue; null while none is missing. */
  needFromMs(nowVenueMs: number): number | null {
    const end = this.#closes.stepOf(nowVenueMs) - OWN_HOURS
    const first = Math.max(end - CLOSES_READ + OWN_HOURS, this.#askedHour + 1)
    for (let hour = first; hour < end; hour += 1) if (!this.#closes.has(hour)) return hour * HOUR_MS
    return null
  }

  closed(timeframe: Timeframe, bar: Bar): void {
    if (timeframe === '1h') this.#record(bar)
  }

  apply(event: CoinEvent): void {
    if (event.kind === 'hourly-history') this.#remember(event)
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
  }
}

export const hourlyCloses = coinTracker('market/hourly-closes', () => new HourlyCloses())
