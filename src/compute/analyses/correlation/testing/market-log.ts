import { seededChance } from '../../../../../test/golden/seeded-candles.ts'
import type { Bar } from '../../../../domain/bar.ts'
import type { HourlyHistoryEvent } from '../../../../domain/event.ts'
import { RETURN_MS } from '../correlation-window.ts'

/** Hour after which nothing is told, unless a test says so. */
export const LAST_HOUR = Date.UTC(2026, 5, 1, 11) / RETURN_MS

export type CoinScript = {
  readonly coin: string
  /** Share of the common movement in the coin's own. */
  readonly follows: number
  readonly startPrice?: number
  /** Hours before the last, from when on it is listed. */
  readonly hours: number
  readonly isMissing?: (hour: number) => boolean
}

/** Bars of coins that move together, up to an hour; the movement of an hour is the same in every call. */
export function hourlyBars(script: CoinScript, endHour = LAST_HOUR): Bar[] {
  const { coin, follows, startPrice = 100, hours } = script
  const bars: Bar[] = []
  let close = startPrice
  for (let hour = LAST_HOUR - hours + 1; hour <= endHour; hour += 1) {
    const own = movement(hour, coin)
    const open = close
    close = open * Math.exp(0.006 * (follows * movement(hour, '') + (1 - Math.abs(follows)) * own))
    const [high, low] = [Math.max(open, close), Math.min(open, close)]
    if (script.isMissing?.(hour)) continue
    bars.push({ openTimeMs: hour * RETURN_MS, open, high, low, close, volumeBase: 1 })
  }
  return bars
}

/** The venue's word on bars, asked when the last of them had closed. */
export function hourlyHistory(
  coin: string,
  bars: readonly Bar[],
  atMs: number,
): HourlyHistoryEvent {
  return { kind: 'hourly-history', coin, bars, timeExchangeMs: atMs, timeReceivedMs: atMs }
}

/** Some time after an hour has closed. */
export function closedBy(hour: number, ms = 5_000): number {
  return (hour + 1) * RETURN_MS + ms
}

function movement(hour: number, coin: string): number {
  let seed = hour
  for (const letter of coin) seed = Math.imul(seed, 31) + letter.charCodeAt(0)
  const chance = seededChance(seed)
  return chance() + chance() + chance() - 1.5
}
