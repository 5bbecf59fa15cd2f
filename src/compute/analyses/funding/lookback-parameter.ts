import { Type } from 'typebox'
import type { ViewParameter } from '../../../domain/contract.ts'
import { DAY_HOURS, WEEK_HOURS } from '../../funding/funding-series.ts'

export const defaultLookbackHours = DAY_HOURS
export const lookbackHoursMax = WEEK_HOURS

export const lookbackParameter: ViewParameter = {
  name: 'lookback_hours',
  description: `Hours of history and statistics, 1 to ${lookbackHoursMax}. Default ${defaultLookbackHours}.`,
  allowed: [`1..${lookbackHoursMax}`],
  rule: `must be a whole number from 1 to ${lookbackHoursMax}`,
  example: String(WEEK_HOURS),
  schema: Type.Integer({ minimum: 1, maximum: lookbackHoursMax }),
  problem: 'invalid_parameter',
  defaultValue: lookbackViewKey(defaultLookbackHours),
  valueOf: (raw) => (/^[1-9]\d*$/.test(raw) && Number(raw) <= lookbackHoursMax ? raw : undefined),
}

/** View key of a lookback. */
export function lookbackViewKey(hours: number): string {
  return String(hours)
}
