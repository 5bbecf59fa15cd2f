import type { Bar } from '../../domain/bar.ts'
import type { CoinClass } from '../../domain/track-record.ts'

/** Lowest turnover of a day, USD. */
const MAJORS_USD = 250e6
const MID_USD = 10e6

/** Size class of a coin by its turnover. @param dayBars its 15m bars of the last 24 hours */
export function coinClassOf(dayBars: readonly Pick<Bar, 'close' | 'volumeBase'>[]): CoinClass {
  const turnoverUsd = dayBars.reduce((sum, { volumeBase, close }) => sum + volumeBase * close, 0)
  if (turnoverUsd >= MAJORS_USD) return 'majors'
  return turnoverUsd >= MID_USD ? 'mid' : 'tail'
}
