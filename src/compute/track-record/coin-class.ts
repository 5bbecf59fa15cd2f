import type { CoinClass } from '../../domain/track-record.ts'

/** Lowest turnover of a day, USD. */
const MAJORS_USD = 250e6
const MID_USD = 10e6

/** Size class of a coin. @param turnoverUsd of the last 24 hours */
export function coinClassOf(turnoverUsd: number): CoinClass {
  if (turnoverUsd >= MAJORS_USD) return 'majors'
  return turnoverUsd >= MID_USD ? 'mid' : 'tail'
}
