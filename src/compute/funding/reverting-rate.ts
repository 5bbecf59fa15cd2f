import { medianOfSorted } from '../statistics/median.ts'
import type { FundingHour, FundingWindows } from './funding-series.ts'
import { MONTH_HOURS, WEEK_HOURS } from './funding-series.ts'

const HOUR_MS = 3_600_000
const PAIRS_MIN = 48

/** Settled hours of the last week. */
export type SettledWeek = {
  readonly lastRate: number
  /** Median of the month. */
  readonly usualRate: number
  /** Rates of successive hours. */
  readonly pairs: readonly (readonly [before: number, after: number])[]
}

/** The next hourly rate by the last one, and the errors that this had in the week, ascending. */
export type RevertingRate = { readonly centre: number; readonly errors: readonly number[] }

/** null while the last hour is not settled, or with fewer than two days of hours. */
export function settledWeek(windows: FundingWindows, atMs: number): SettledWeek | null {
  const hours = windows.records(WEEK_HOURS).filter(({ isSettled }) => isSettled)
  const pairs = pairsOf(hours)
  const last = hours.at(-1)
  if (last === undefined || last.timeMs < atMs - HOUR_MS || pairs.length < PAIRS_MIN) return null
  return { lastRate: last.rateHourly, usualRate: windows.over(MONTH_HOURS).median, pairs }
}

/** Forecast of the next rate: from the last one towards the median of the month, by the coefficient of the last week. */
export function revertingRate({ lastRate, usualRate, pairs }: SettledWeek): RevertingRate {
  const away = pairs.map(([before, after]) => [before - usualRate, after - usualRate] as const)
  const products = away.reduce((sum, [before, after]) => sum + before * after, 0)
  const squares = away.reduce((sum, [before]) => sum + before ** 2, 0)
  const kept = squares > 0 ? Math.min(1, Math.max(0, products / squares)) : 1
  const errors = away.map(([before, after]) => after - kept * before)
  return {
    centre: usualRate + kept * (lastRate - usualRate),
    errors: errors.sort((one, other) => one - other),
  }
}

/** Its median; null without a {@link settledWeek}. */
export function revertingMedian(windows: FundingWindows, atMs: number): number | null {
  const week = settledWeek(windows, atMs)
  if (week === null) return null
  const { centre, errors } = revertingRate(week)
  return centre + medianOfSorted(errors)
}

function pairsOf(hours: readonly FundingHour[]): SettledWeek['pairs'] {
  return hours.flatMap(({ timeMs, rateHourly }, at) => {
    const before = hours[at - 1]
    return before?.timeMs === timeMs - HOUR_MS ? [[before.rateHourly, rateHourly] as const] : []
  })
}
