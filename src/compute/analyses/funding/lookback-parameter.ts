import { Type } from 'typebox'
import type { ViewParameter } from '../../../domain/contract.ts'
import type { FundingWindowHours } from '../../market/funding-series.ts'
import { DAY_HOURS, WEEK_HOURS } from '../../market/funding-series.ts'

/** An interval of most other exchanges, a day, three and a week: each is rendered ahead. */
export const lookbacksHours = [8, DAY_HOURS, 72, WEEK_HOURS] as const satisfies FundingWindowHours[]
export type LookbackHours = (typeof lookbacksHours)[number]

export const defaultLookbackHours = DAY_HOURS

const allowed = lookbacksHours.map(String)

export const lookbackParameter: ViewParameter = {
  name: 'lookback_hours',
  description: `Hours that the history and the statistics beside it go back: ${allowed.join(', ')}. Default ${defaultLookbackHours}.`,
  allowed,
  rule: `is one of ${allowed.join(', ')}`,
  example: String(WEEK_HOURS),
  schema: Type.Integer({ enum: [...lookbacksHours] }),
  problem: 'invalid_parameter',
  defaultValue: lookbackViewKey(defaultLookbackHours),
  valueOf: (raw) => allowed.find((hours) => hours === raw),
}

/** Key of a view, as the parameter makes it. */
export function lookbackViewKey(hours: LookbackHours): string {
  return String(hours)
}
