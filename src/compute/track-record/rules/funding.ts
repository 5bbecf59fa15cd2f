import { quantileLevels } from '../../../domain/track-record.ts'
import { fundingSeries } from '../../funding/funding-series.ts'
import type { SettledWeek } from '../../funding/reverting-rate.ts'
import { revertingRate, settledWeek } from '../../funding/reverting-rate.ts'
import type { Moment, Rule } from '../rule.ts'
import { HOUR_MS } from '../rule.ts'

/** Quarter of the hour in which the running estimate contains a part of the hour. */
const QUARTER = 1
/** Share of the hour that the estimate does not contain; the variance of its error is about this share of an hour's. */
const OPEN_SHARE = 0.75
const CONTEXT_AGE_MS_MAX = 300_000

/**
 * The rate of the next settlement against persistence with the spread of a week's hourly changes: the published running
 * estimate with that spread, reduced to the open part of the hour; and the last rate drawn to the month's median, as far
 * as the hours of the week were, with the spread of its errors in that week.
 */
export const fundingRules: readonly Rule[] = [
  fundingRule('funding.next@1', (week, { coin, nowMs }) => {
    const { context } = coin
    if (context === null || nowMs - context.timeReceivedMs > CONTEXT_AGE_MS_MAX) return null
    const openSpread = Math.sqrt(OPEN_SHARE)
    return changesOf(week).map((change) => context.fundingRateHourly + change * openSpread)
  }),
  fundingRule('funding.reverting@1', (week) => {
    const { centre, errors } = revertingRate(week)
    return spreadOf(errors).map((error) => centre + error)
  }),
]

function fundingRule(
  id: Rule['id'],
  valuesOf: (week: SettledWeek, moment: Moment) => readonly number[] | null,
): Rule {
  return {
    id,
    form: 'quantiles',
    quarter: QUARTER,
    horizonMs: () => HOUR_MS,
    make(moment) {
      const { coin, atMs } = moment
      const week = settledWeek(coin.of(fundingSeries).windows(atMs), atMs)
      const values = week === null ? null : valuesOf(week, moment)
      if (week === null || values === null) return null
      const control = changesOf(week).map((change) => week.lastRate + change)
      return { statement: { form: 'quantiles', values, control }, reference: [] }
    },
    outcome({ madeAtMs }, { coin }) {
      const settlementMs = Math.ceil(madeAtMs / HOUR_MS) * HOUR_MS
      const [record] = coin.of(fundingSeries).windows(settlementMs).records(1)
      return record?.isSettled ? { kind: 'value', value: record.rateHourly } : null
    },
  }
}

/** Spread of the changes between successive hours. */
function changesOf({ pairs }: SettledWeek): readonly number[] {
  const changes = pairs.map(([before, after]) => after - before)
  return spreadOf(changes.sort((one, other) => one - other))
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
