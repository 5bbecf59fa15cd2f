import { quantileLevels } from '../../../domain/track-record.ts'
import type { FundingHour } from '../../funding/funding-series.ts'
import { fundingSeries, recordsOf, WEEK_HOURS } from '../../funding/funding-series.ts'
import type { Rule } from '../rule.ts'
import { HOUR_MS } from '../rule.ts'

/** Quarter of the hour in which the running estimate contains a part of the hour. */
const QUARTER = 1
/** Share of the hour that the estimate does not contain; the variance of its error is about this share of an hour's. */
const OPEN_SHARE = 0.75
const CHANGES_MIN = 48
const CONTEXT_AGE_MS_MAX = 300_000

/**
 * The rate of the next settlement: the published running estimate with the spread of a week's hourly changes, reduced
 * to the open part of the hour, against persistence with the whole spread.
 */
export const fundingRule: Rule = {
  id: 'funding.next@1',
  form: 'quantiles',
  quarter: QUARTER,
  horizonMs: () => HOUR_MS,
  make({ coin, atMs, nowMs }) {
    const { context } = coin
    if (context === null || nowMs - context.timeReceivedMs > CONTEXT_AGE_MS_MAX) return null
    const settled = recordsOf(coin.of(fundingSeries).windows(atMs), WEEK_HOURS).filter(
      ({ isSettled }) => isSettled,
    )
    const last = settled.at(-1)
    const changes = changesOf(settled)
    if (last === undefined || last.timeMs < atMs - HOUR_MS || changes.length < CHANGES_MIN)
      return null
    const spread = quantileLevels.map((level) => quantileOf(changes, level))
    const openSpread = Math.sqrt(OPEN_SHARE)
    return {
      statement: {
        form: 'quantiles',
        values: spread.map((change) => context.fundingRateHourly + change * openSpread),
        control: spread.map((change) => last.rateHourly + change),
      },
      reference: [],
    }
  },
  outcome({ madeAtMs }, { coin }) {
    const settlementMs = Math.ceil(madeAtMs / HOUR_MS) * HOUR_MS
    const { week } = coin.of(fundingSeries).windows(settlementMs)
    const record = week.find(({ timeMs }) => timeMs === settlementMs)
    return record?.isSettled ? { kind: 'value', value: record.rateHourly } : null
  },
}

/** Between successive hours, ascending. */
function changesOf(settled: readonly FundingHour[]): readonly number[] {
  return settled
    .flatMap(({ timeMs, rateHourly }, at) => {
      const before = settled[at - 1]
      return before?.timeMs === timeMs - HOUR_MS ? [rateHourly - before.rateHourly] : []
    })
    .sort((one, other) => one - other)
}

/** Interpolated between the two nearest values. */
function quantileOf(ascending: readonly number[], level: number): number {
  const place = level * (ascending.length - 1)
  const lower = Math.floor(place)
  const [before = 0, after = before] = ascending.slice(lower, lower + 2)
  return before + (place - lower) * (after - before)
}
