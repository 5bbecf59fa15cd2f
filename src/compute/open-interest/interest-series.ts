import type { CoinEvent, ContextEvent } from '../../domain/event.ts'
import type { MarketSample } from '../../domain/history.ts'
import { SAMPLE_STEP_MS } from '../../domain/history.ts'
import type { CoinTracker } from '../market/coin-tracker.ts'
import { coinTracker } from '../market/coin-tracker.ts'
import type { SeriesStatistics } from '../statistics/series-statistics.ts'
import { statisticsOf } from '../statistics/series-statistics.ts'
import { StepRing } from '../statistics/step-ring.ts'

const MINUTE_MS = SAMPLE_STEP_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** Largest distance of a reading from the beginning of a window, as a share of the window. */
const READING_OFF_SHARE = 0.1
const READING_OFF_MS_MAX = HOUR_MS

/** Minutes of a day and hours of a month, both with the tolerance of a reading. */
const MINUTES_KEPT = (DAY_MS + READING_OFF_MS_MAX) / MINUTE_MS + 2
export const INTEREST_WINDOW_HOURS = 720
const HOURS_KEPT = INTEREST_WINDOW_HOURS + 24
/** Hourly marks are read for changes over up to a week. */
const MARK_HOURS_KEPT = 7 * 24 + 24
/** Window of the coin's own moves. */
const MOVE_HOURS = 4

const [INTEREST, MARK] = [0, 1]
const HOURLY_MARK = 0

/** Change from an earlier reading to the current figures. */
export type InterestChange = {
  /** Actual time between both. */
  readonly seconds: number
  /** Change of contracts, which excludes the price. NaN from none, as that of notional. */
  readonly interestPct: number
  /** Change of the mark price. */
  readonly pricePct: number
  /** Change of contracts times mark price. */
  readonly notionalPct: number
}

/** Without the sorted values, 6 kB a coin. */
type UnsortedStatistics = Omit<SeriesStatistics, 'ascending'>

/** Whole hours of the last 30 days. */
export type InterestWindow = {
  readonly lastHour: number
  readonly contracts: UnsortedStatistics
  /** From the first reading to the last hour. */
  readonly spanHours: number
  /** Percent changes of contracts over four hours, for each hour. */
  readonly moves: UnsortedStatistics
}

/** Open interest and mark price of one coin: minutes of a day, whole hours of a month. */
export class InterestSeries implements CoinTracker {
  readonly inputs = ['sample-history'] as const
  readonly #minutes = new StepRing(MINUTE_MS, MINUTES_KEPT, 2)
  readonly #hours = new StepRing(HOUR_MS, HOURS_KEPT, 1)
  readonly #hourlyMarks = new StepRing(HOUR_MS, MARK_HOURS_KEPT, 1)
  #window: InterestWindow | null = null

  apply(event: CoinEvent): void {
    if (event.kind === 'sample-history') for (const sample of event.samples) this.sample(sample)
  }

  sample({ timeMs, openInterestBase, markPrice }: MarketSample): void {
    this.#minutes.set(this.#minutes.stepOf(timeMs), [openInterestBase, markPrice])
    if (timeMs % HOUR_MS !== 0) return
    const hour = this.#hours.stepOf(timeMs)
    this.#hours.set(hour, [openInterestBase])
    this.#hourlyMarks.set(hour, [markPrice])
    this.#window = null
  }

  /** Earliest time, by the venue's clock, at which a change over a window can be known. */
  changeFromMs(atMs: number, windowMs: number): number {
    const newest = this.#minutes.stepOf(atMs)
    let first = this.#minutes.stepOf(atMs - windowMs)
    while (first <= newest && !this.#minutes.has(first)) first += 1
    return first * MINUTE_MS + windowMs - offMsMaxOf(windowMs)
  }

  /**
   * Change over a window, at most a week, up to the figures of `context`.
   * @returns null without a reading near the beginning of the window
   */
  change(context: ContextEvent, windowMs: number): InterestChange | null {
    const fromMs = context.timeExchangeMs - windowMs
    const offMsMax = offMsMaxOf(windowMs)
    const isHourly = windowMs > DAY_MS
    const ring = isHourly ? this.#hours : this.#minutes
    const step = ring.nearest(fromMs, offMsMax)
    if (Number.isNaN(step)) return null
    const interest = ring.at(step, INTEREST)
    const interestRatio = interest > 0 ? context.openInterestBase / interest : Number.NaN
    const mark = isHourly ? this.#hourlyMarks.at(step, HOURLY_MARK) : ring.at(step, MARK)
    const priceRatio = context.markPrice / mark
    return {
      seconds: (context.timeExchangeMs - step * ring.stepMs) / 1_000,
      interestPct: (interestRatio - 1) * 100,
      pricePct: (priceRatio - 1) * 100,
      notionalPct: (interestRatio * priceRatio - 1) * 100,
    }
  }

  /**
   * @param atMs by the venue's clock
   * Computed once an hour, and after each hourly reading.
   */
  window(atMs: number): InterestWindow {
    const lastHour = this.#hours.stepOf(atMs)
    if (this.#window?.lastHour !== lastHour) this.#window = this.#windowTo(lastHour)
    return this.#window
  }

  /** Rank of a number of contracts among those of {@link window}, 0 to 100, ties counted half; NaN for none. */
  percentile(atMs: number, contracts: number): number {
    const lastHour = this.#hours.stepOf(atMs)
    return this.#hours.percentile(INTEREST, firstHourOf(lastHour), lastHour, contracts)
  }

  /** Contracts at the last whole hours, oldest first; missing hours are left out. */
  hourly(atMs: number, hours: number): { readonly timeMs: number; readonly contracts: number }[] {
    const lastHour = this.#hours.stepOf(atMs)
    return this.#hours.steps(lastHour - hours + 1, lastHour).map((hour) => ({
      timeMs: hour * HOUR_MS,
      contracts: this.#hours.at(hour, INTEREST),
    }))
  }

  #windowTo(lastHour: number): InterestWindow {
    const firstHour = firstHourOf(lastHour)
    const [oldestHour = lastHour + 1] = this.#hours.steps(firstHour, lastHour)
    return {
      lastHour,
      contracts: unsortedOf(this.#hours.values(INTEREST, firstHour, lastHour)),
      spanHours: lastHour - oldestHour + 1,
      moves: unsortedOf(this.#movesPct(firstHour, lastHour)),
    }
  }

  #movesPct(firstHour: number, lastHour: number): Float64Array {
    const moves: number[] = []
    for (let hour = firstHour + MOVE_HOURS; hour <= lastHour; hour += 1) {
      const before = this.#hours.at(hour - MOVE_HOURS, INTEREST)
      if (before > 0 && this.#hours.has(hour))
        moves.push((this.#hours.at(hour, INTEREST) / before - 1) * 100)
    }
    return Float64Array.from(moves)
  }
}

function firstHourOf(lastHour: number): number {
  return lastHour - INTEREST_WINDOW_HOURS + 1
}

function unsortedOf(values: Float64Array): UnsortedStatistics {
  const { ascending: _, ...unsorted } = statisticsOf(values)
  return unsorted
}

/** Largest distance of a reading from the beginning of a window. */
function offMsMaxOf(windowMs: number): number {
  return Math.min(READING_OFF_SHARE * windowMs, READING_OFF_MS_MAX)
}

export const interestSeries = coinTracker('market/open-interest', () => new InterestSeries())
