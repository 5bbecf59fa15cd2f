import { decimals } from './significance.ts'

/** Digits of a statistic by its number of readings: none finer than the step from one reading to the next. */

/** A rank or share of `n` readings, percent: steps of 100 / n. 0 and 100 are none and all, never rounded. */
export function percentOf(value: number, n: number): number {
  const count = Math.max(0, digitsOf(n) - 2)
  const shown = decimals(value, count)
  const step = 10 ** -count
  if (shown === 100 && value < 100) return decimals(100 - step, count)
  return shown === 0 && value > 0 ? step : shown
}

/** A distance in deviations of `n` readings: steps of 1 / n. */
export function deviationsOf(value: number, n: number): number {
  return decimals(value, digitsOf(n))
}

/** Digits of the largest power of ten up to `n`; 0 for none. */
function digitsOf(n: number): number {
  return n < 1 ? 0 : Math.floor(Math.log10(n))
}
