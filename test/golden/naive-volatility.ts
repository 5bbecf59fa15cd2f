import type { Bar } from '../../src/domain/bar.ts'
import { naivePulse } from './naive-pulse.ts'
import { naivePercentile } from './naive-statistics.ts'

const HOUR_MS = 3_600_000

/** Whole hours from consecutive 15m bars; a quarter without a trade changes no price. */
export function naiveHours(quarters: readonly Bar[]): Bar[] {
  const hours = new Map<number, Bar[]>()
  for (const bar of quarters) {
    const openTimeMs = bar.openTimeMs - (bar.openTimeMs % HOUR_MS)
    hours.set(openTimeMs, [...(hours.get(openTimeMs) ?? []), bar])
  }
  return [...hours].flatMap(([openTimeMs, bars]) => {
    if (bars.length !== 4) return []
    const traded = bars.filter(({ volumeBase }) => volumeBase > 0)
    const counted = traded.length > 0 ? traded : bars
    return {
      openTimeMs,
      open: counted[0]?.open ?? Number.NaN,
      high: Math.max(...counted.map(({ high }) => high)),
      low: Math.min(...counted.map(({ low }) => low)),
      close: counted.at(-1)?.close ?? Number.NaN,
      volumeBase: traded.reduce((sum, { volumeBase }) => sum + volumeBase, 0),
    }
  })
}

/** ATR 14 in percent of the close, for the last 720 hours with a value, oldest first. */
export function naiveAtrPercents(hours: readonly Bar[]): number[] {
  return naivePulse(hours)
    .map(({ atr14 }, at) => (100 * atr14) / (hours[at]?.close ?? Number.NaN))
    .slice(-720)
    .filter((value) => !Number.isNaN(value))
}

/**
 * Of the last closed hour, or of the forming one where that is higher; null with less than a week of data.
 * @param formingAtrPct with the forming hour
 */
export function naiveVolatilityPercentile(
  hours: readonly Bar[],
  formingAtrPct: number,
): number | null {
  const values = naiveAtrPercents(hours)
  const closed = values.at(-1) ?? Number.NaN
  const present = formingAtrPct - closed > closed / 1e9 ? formingAtrPct : closed
  return values.length < 168 ? null : naivePercentile(values, present)
}
