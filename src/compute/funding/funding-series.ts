import type { CoinEvent, VenueFundingsEvent } from '../../domain/event.ts'
import type { FundingRow } from '../../domain/history.ts'
import { FUNDING_STEP_MS } from '../../domain/history.ts'
import type { CoinTracker } from '../market/coin-tracker.ts'
import { coinTracker } from '../market/coin-tracker.ts'
import { rate } from '../render/significance.ts'
import type { SeriesStatistics } from '../statistics/series-statistics.ts'
import { signsOf, statisticsOf } from '../statistics/series-statistics.ts'
import { StepRing } from '../statistics/step-ring.ts'

export const DAY_HOURS = 24
export const WEEK_HOURS = 168
export const MONTH_HOURS = 720
/** A month, and a day of records whose hour is not over by the venue's clock. */
const HOURS_KEPT = MONTH_HOURS + DAY_HOURS

/** Premiums are read for a week. */
const PREMIUM_HOURS_KEPT = WEEK_HOURS + DAY_HOURS

const RATE = 0
const PREMIUM = 0
export const fundingSigns = ['POSITIVE', 'NEGATIVE', 'ZERO'] as const

/** Consecutive hours with rates of one sign, up to the newest record of the last day; 0 for none. */
type FundingStreak = {
  readonly sign: (typeof fundingSigns)[number]
  readonly hours: number
}

/** Funding of one hour: settled, or estimated until the venue's record arrives. */
export type FundingHour = Omit<FundingRow, 'coin'>

/** Funding of the hours that were over at one instant. */
export type FundingWindows = {
  /** Number of the last hour since the Unix epoch. */
  readonly lastHour: number
  /**
   * Records of the last `hours`, oldest first; missing hours are left out, and premiums before the last week null. Not
   * cached: a week takes 17 kB a coin.
   */
  readonly records: (hours: number) => readonly FundingHour[]
  /** Of the newest record of the last week. */
  readonly newestMs: number | undefined
  /** Whether a record of the last week is settled. */
  readonly isSettledKnown: boolean
  /** Statistics of the last `hours`, 1 to {@link MONTH_HOURS}; those of whole windows are cached. */
  readonly over: (hours: number) => SeriesStatistics
  /** From the first record of the month to the last hour, both included. */
  readonly monthSpanHours: number
  readonly streak: FundingStreak
}

/**
 * Hourly funding of the last month. The running rate shortly before an hour is its estimate until the venue's record
 * arrives, which no estimate replaces.
 */
export class FundingSeries implements CoinTracker {
  readonly inputs = ['funding-history', 'venue-fundings'] as const
  readonly #hours = new StepRing(FUNDING_STEP_MS, HOURS_KEPT, 1)
  readonly #premiums = new StepRing(FUNDING_STEP_MS, PREMIUM_HOURS_KEPT, 1)
  /** The settled ones of these hours: a row without fields takes a bit. */
  readonly #settled = new StepRing(FUNDING_STEP_MS, HOURS_KEPT, 0)
  #windows: FundingWindows | null = null
  #venueFundings: VenueFundingsEvent | null = null

  /** Next funding here and on other exchanges, by the venue. */
  get venueFundings(): VenueFundingsEvent | null {
    return this.#venueFundings
  }

  apply(event: CoinEvent): void {
    if (event.kind === 'funding-history') for (const row of event.rows) this.#record(row)
    else if (event.kind === 'venue-fundings') this.#venueFundings = event
  }

  /** The one that history stores, so that an engine restarted before the record has the same. */
  estimate(funding: FundingRow): void {
    this.#record(funding)
  }

  /**
   * @param atMs by the venue's clock
   * Computed once an hour, and after each record.
   */
  windows(atMs: number): FundingWindows {
    const lastHour = this.#hours.stepOf(atMs)
    if (this.#windows?.lastHour !== lastHour) this.#windows = this.#windowsTo(lastHour)
    return this.#windows
  }

  #record({ timeMs, rateHourly, premium, isSettled }: FundingRow): void {
    const hour = this.#hours.stepOf(timeMs)
    if (this.#settled.has(hour) && !isSettled) return
    this.#hours.set(hour, [rateHourly])
    this.#premiums.set(hour, [premium ?? Number.NaN])
    if (isSettled) this.#settled.set(hour, [])
    this.#windows = null
  }

  #windowsTo(lastHour: number): FundingWindows {
    const records = (hours: number) => this.#records(lastHour - hours + 1, lastHour)
    const week = records(WEEK_HOURS)
    return {
      lastHour,
      records,
      newestMs: week.at(-1)?.timeMs,
      isSettledKnown: week.some(({ isSettled }) => isSettled),
      over: statisticsOver((hours) => this.#hours.values(RATE, lastHour - hours + 1, lastHour)),
      monthSpanHours: this.#spanHours(lastHour),
      streak: this.#streak(lastHour),
    }
  }

  #records(firstHour: number, lastHour: number): readonly FundingHour[] {
    return this.#hours.steps(firstHour, lastHour).map((hour) => {
      const premium = this.#premiums.at(hour, PREMIUM)
      return {
        timeMs: hour * FUNDING_STEP_MS,
        rateHourly: this.#hours.at(hour, RATE),
        premium: Number.isNaN(premium) ? null : premium,
        isSettled: this.#settled.has(hour),
      }
    })
  }

  #spanHours(lastHour: number): number {
    const [oldestHour = lastHour + 1] = this.#hours.steps(lastHour - MONTH_HOURS + 1, lastHour)
    return lastHour - oldestHour + 1
  }

  #streak(lastHour: number): FundingStreak {
    let newest = lastHour
    while (newest > lastHour - DAY_HOURS && !this.#hours.has(newest)) newest -= 1
    // Of the rates as printed.
    const signAt = (hour: number) => Math.sign(rate(this.#hours.at(hour, RATE)))
    const sign = signAt(newest)
    let hours = 0
    while (hours < MONTH_HOURS && signAt(newest - hours) === sign) hours += 1
    if (sign > 0) return { sign: 'POSITIVE', hours }
    return { sign: sign < 0 ? 'NEGATIVE' : 'ZERO', hours }
  }
}

/** Windows of every answer. Others are read once an hour, and caching a week of them would take 200 kB a coin. */
const KEPT_HOURS: ReadonlySet<number> = new Set([DAY_HOURS, WEEK_HOURS, MONTH_HOURS])

/** @param ratesOf known rates of the last hours, oldest first */
function statisticsOver(
  ratesOf: (hours: number) => Float64Array,
): (hours: number) => SeriesStatistics {
  const kept = new Map<number, SeriesStatistics>()
  const computed = (hours: number) => {
    const rates = ratesOf(hours)
    // The signs are of the rates as printed, as for a streak.
    return { ...statisticsOf(rates), ...signsOf(rates.map(rate)) }
  }
  return (hours) => {
    const statistics = kept.get(hours) ?? computed(hours)
    if (KEPT_HOURS.has(hours)) kept.set(hours, statistics)
    return statistics
  }
}

export const fundingSeries = coinTracker('market/funding', () => new FundingSeries())
