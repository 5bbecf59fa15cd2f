import { Type } from 'typebox'
import type { ViewParameter } from '../../../domain/contract.ts'
import type { Timeframe } from '../../../domain/timeframe.ts'
import { timeframes } from '../../../domain/timeframe.ts'

/** Every non-empty subset in canonical order; joined by commas it is the view key, such as `15m,1h`. */
export const timeframeSubsets: readonly (readonly Timeframe[])[] = Array.from(
  { length: 2 ** timeframes.length - 1 },
  (_, index) => timeframes.filter((_timeframe, bit) => ((index + 1) >> bit) & 1),
)

/** Maps each key to one string instance, which makes look-ups fast. */
const canonicalViews: ReadonlyMap<string, string> = new Map(
  timeframeSubsets.map((subset) => [subset.join(','), subset.join(',')]),
)

export const timeframesParameter: ViewParameter = {
  name: 'timeframes',
  description: 'Comma-separated list of 15m, 1h, 4h, in any order and case. Default 1h,4h.',
  allowed: timeframes,
  rule: `must be a comma-separated list of ${timeframes.join(', ')}`,
  example: '1h,4h',
  schema: Type.String({
    pattern: '^ *(15[mM]|[14][hH]) *(, *(15[mM]|[14][hH]) *)*$',
  }),
  problem: 'invalid_timeframes',
  defaultValue: '1h,4h',
  valueOf: (raw) => {
    const known = canonicalViews.get(raw)
    if (known !== undefined) return known
    const items = raw.split(',').map((item) => item.trim().toLowerCase())
    if (!items.every((item) => (timeframes as readonly string[]).includes(item))) return undefined
    return canonicalViews.get(timeframes.filter((one) => items.includes(one)).join(','))
  },
}
