/** Supported bar lengths, shortest first. */
export const timeframes = ['15m', '1h', '4h'] as const

export type Timeframe = (typeof timeframes)[number]

const MINUTE_MS = 60_000

export const timeframeMs: Readonly<Record<Timeframe, number>> = {
  '15m': 15 * MINUTE_MS,
  '1h': 60 * MINUTE_MS,
  '4h': 240 * MINUTE_MS,
}

/** Open time of the bar that contains `timeMs`. Bars are aligned to the Unix epoch. */
export function barOpenTimeMs(timeMs: number, timeframe: Timeframe): number {
  const stepMs = timeframeMs[timeframe]
  return Math.floor(timeMs / stepMs) * stepMs
}
