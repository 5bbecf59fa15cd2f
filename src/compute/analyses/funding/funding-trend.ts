import type { FundingRow } from '../../../domain/history.ts'
import { FUNDING_STEP_MS } from '../../../domain/history.ts'
import type { FundingWindows } from '../../funding/funding-series.ts'
import { DAY_HOURS } from '../../funding/funding-series.ts'

export const fundingTrends = ['RISING', 'FALLING', 'FLAT', 'UNKNOWN'] as const
type FundingTrend = (typeof fundingTrends)[number]

const RECENT_HOURS = 4
const TREND_DEVIATIONS = 0.5

/**
 * Mean of the last 4 hours against that of the 20 before, in deviations of the whole day.
 * UNKNOWN if either part has no record.
 * @param records of the last day
 */
export function fundingTrendOf(
  records: readonly Pick<FundingRow, 'timeMs' | 'rateHourly'>[],
  { over, lastHour }: FundingWindows,
): FundingTrend {
  const recentFromMs = (lastHour - RECENT_HOURS + 1) * FUNDING_STEP_MS
  const recent = records.filter(({ timeMs }) => timeMs >= recentFromMs)
  const before = records.filter(({ timeMs }) => timeMs < recentFromMs)
  if (recent.length === 0 || before.length === 0) return 'UNKNOWN'
  const { deviation } = over(DAY_HOURS)
  const rise = meanOf(recent) - meanOf(before)
  // Means of equal rates differ by rounding.
  if (deviation === 0 || Math.abs(rise) <= TREND_DEVIATIONS * deviation) return 'FLAT'
  return rise > 0 ? 'RISING' : 'FALLING'
}

function meanOf(records: readonly Pick<FundingRow, 'rateHourly'>[]): number {
  return records.reduce((sum, { rateHourly }) => sum + rateHourly, 0) / records.length
}
