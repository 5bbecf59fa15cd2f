import type { Bar } from '../../../domain/bar.ts'

const HOUR_MS = 3_600_000

/** The whole hours of 15m bars, from all trades of each hour at once; an hour without any repeats the close before. */
export function naiveHours(quarters: readonly Bar[]): Bar[] {
  const byHour = Map.groupBy(quarters, ({ openTimeMs }) => Math.floor(openTimeMs / HOUR_MS))
  return [...byHour].flatMap(([hour, parts]) => {
    if (parts.length < 4) return []
    const traded = parts.filter(({ volumeBase }) => volumeBase > 0)
    const seen = traded.length === 0 ? parts : traded
    return {
      openTimeMs: hour * HOUR_MS,
      open: seen[0]?.open ?? Number.NaN,
      high: Math.max(...seen.map(({ high }) => high)),
      low: Math.min(...seen.map(({ low }) => low)),
      close: seen.at(-1)?.close ?? Number.NaN,
      volumeBase: traded.reduce((sum, { volumeBase }) => sum + volumeBase, 0),
    }
  })
}
