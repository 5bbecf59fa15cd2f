import { quantileLevels } from '../../../domain/track-record.ts'
import type { FundingHour } from '../../funding/funding-series.ts'
import { fundingSeries, MONTH_HOURS, recordsOf, WEEK_HOURS } from '../../funding/funding-series.ts'
import type { Moment, Rule } from '../rule.ts'
import { HOUR_MS } from '../rule.ts'

/** Quarter of the hour in which the running estimate contains a part of the hour. */
const QUARTER = 1
/** Share of the hour that the estimate does not contain; the variance of its error is about this share of an hour's. */
const OPEN_SHARE = 0.75
const CHANGES_MIN = 48
const CONTEXT_AGE_MS_MAX = 300_000

type Settled = {
  readonly hours: readonly FundingHour[]
  /** Median of the month. */
  readonly usualRate: number
  /** Between successive hours, ascending. */
  readonly changes: readonly number[]
}

/**
 * The rate of the next settlement against persistence with the spread of a week's hourly changes: the published running
 * estimate with that spread, reduced to the open part of the hour; and the last rate drawn to the month's median, as far
 * as the hours of the week were, with the spread of its errors in that week.
 */
export const fundingRules: readonly Rule[] = [
  fundingRule('funding.next@1', ({ changes }, { coin, nowMs }) => {
    const { context } = coin
    if (context === null || nowMs - context.timeReceivedMs > CONTEXT_AGE_MS_MAX) return null
    const openSpread = Math.sqrt(OPEN_SHARE)
    return spreadOf(changes).map((change) => context.fundingRateHourly + change * openSpread)
  }),
  fundingRule('funding.reverting@1', ({ hours, usualRate }) => {
    const pairs = pairsOf(hours).map(([before, after]) => [before - usualRate, after - usualRate])
    const products = pairs.reduce((sum, [before = 0, after = 0]) => sum + before * after, 0)
    const squares = pairs.reduce((sum, [before = 0]) => sum + before ** 2, 0)
    const kept = squares > 0 ? Math.min(1, Math.max(0, products / squares)) : 1
    const errors = pairs.map(([before = 0, after = 0]) => after - kept * before)
    const last = hours.at(-1)?.rateHourly ?? Number.NaN
    const centre = usualRate + kept * (last - usualRate)
    return spreadOf(errors.sort((one, other) => one - other)).map((error) => centre + error)
  }),
]

function fundingRule(
  id: Rule['id'],
  valuesOf: (settled: Settled, moment: Moment) => readonly number[] | null,
): Rule {
  return {
    id,
    form: 'quantiles',
    quarter: QUARTER,
    horizonMs: () => HOUR_MS,
    make(moment) {
      const settled = settledOf(moment)
      const values = settled === null ? null : valuesOf(settled, moment)
      if (settled === null || values === null) return null
      const last = settled.hours.at(-1)?.rateHourly ?? Number.NaN
      const control = spreadOf(settled.changes).map((change) => last + change)
      return { statement: { form: 'quantiles', values, control }, reference: [] }
    },
    outcome({ madeAtMs }, { coin }) {
      const settlementMs = Math.ceil(madeAtMs / HOUR_MS) * HOUR_MS
      const { week } = coin.of(fundingSeries).windows(settlementMs)
      const record = week.find(({ timeMs }) => timeMs === settlementMs)
      return record?.isSettled ? { kind: 'value', value: record.rateHourly } : null
    },
  }
}

/** null while the last hour is not settled, or with fewer than two days of hours. */
function settledOf({ coin, atMs }: Moment): Settled | null {
  const windows = coin.of(fundingSeries).windows(atMs)
  const hours = recordsOf(windows, WEEK_HOURS).filter(({ isSettled }) => isSettled)
  const changes = pairsOf(hours)
    .map(([before, after]) => after - before)
    .sort((one, other) => one - other)
  const last = hours.at(-1)
  if (last === undefined || last.timeMs < atMs - HOUR_MS || changes.length < CHANGES_MIN)
    return null
  return { hours, usualRate: windows.over(MONTH_HOURS).median, changes }
}

/** Rates of successive hours. */
function pairsOf(hours: readonly FundingHour[]): readonly (readonly [number, number])[] {
  return hours.flatMap(({ timeMs, rateHourly }, at) => {
    const before = hours[at - 1]
    return before?.timeMs === timeMs - HOUR_MS ? [[before.rateHourly, rateHourly] as const] : []
  })
}

function spreadOf(ascending: readonly number[]): readonly number[] {
  return quantileLevels.map((level) => quantileOf(ascending, level))
}

/** Interpolated between the two nearest values. */
function quantileOf(ascending: readonly number[], level: number): number {
  const place = level * (ascending.length - 1)
  const lower = Math.floor(place)
  const [before = 0, after = before] = ascending.slice(lower, lower + 2)
  return before + (place - lower) * (after - before)
}
