import assert from 'node:assert/strict'
import { timeframeMs } from '../../../domain/timeframe.ts'
import { annualisedVolatilityPct } from '../../volatility/annualised-volatility.ts'

/**
 * Closed bars of one length without a break, oldest first: element i of each column belongs to bar i. A missing bar
 * is NaN in all columns. Prices in any unit; every estimate depends on their ratios alone.
 */
export type PriceBars = {
  readonly barMs: number
  readonly open: ArrayLike<number>
  readonly high: ArrayLike<number>
  readonly low: ArrayLike<number>
  readonly close: ArrayLike<number>
}

/** Estimates over the same bars, percent a year. null for too few bars ({@link barsMin}). */
export type RealisedVolatility = {
  readonly closeToClosePct: number | null
  readonly parkinsonPct: number | null
  readonly yangZhangPct: number | null
  /**
   * parkinsonPct / closeToClosePct. 1 for a continuous random walk. Above 1: prices moved within the bars and came
   * back (wicks, bounce between bid and ask). Below 1: bars closed near their extremes, prices jumped between
   * bars, or trades were too few to show the range. null where closeToClosePct is null or 0.
   */
  readonly parkinsonToCloseRatio: number | null
  /** Bars of the window that are known together with the close before them. */
  readonly bars: number
}

/** Windows of an answer and the bars that each is measured on. */
export const volatilityWindows = {
  '1h': { barMs: timeframeMs['15m'], windowMs: timeframeMs['1h'] },
  '4h': { barMs: timeframeMs['15m'], windowMs: timeframeMs['4h'] },
  '24h': { barMs: timeframeMs['15m'], windowMs: 24 * timeframeMs['1h'] },
  '7d': { barMs: timeframeMs['1h'], windowMs: 7 * 24 * timeframeMs['1h'] },
} as const

export type VolatilityWindow = keyof typeof volatilityWindows

/** Bars of a whole window. */
export function barsOf(window: VolatilityWindow): number {
  const { barMs, windowMs } = volatilityWindows[window]
  return windowMs / barMs
}

/** Four returns give a standard error of about 35 % of the estimate (1 / sqrt(2n), close-to-close). */
const BARS_MIN = 4
const KNOWN_SHARE_MIN = 0.75

const UNKNOWN = {
  closeToClosePct: null,
  parkinsonPct: null,
  yangZhangPct: null,
  parkinsonToCloseRatio: null,
} as const

/** Known bars that a window needs: three quarters of it, and at least four. */
export function barsMin(windowBars: number): number {
  return Math.max(BARS_MIN, Math.ceil(windowBars * KNOWN_SHARE_MIN))
}

/**
 * Volatility of the newest `windowMs` of the bars by three estimators. The bar before the window gives the close that
 * the first return starts from, so pass one bar more than the window has; without it the first bar is not used.
 * A bar with a price that is not above zero and finite counts as missing, and so does one whose predecessor is
 * missing. Open and close widen a range that does not contain them (bars without trades, domain/bar.ts).
 */
export function realisedVolatility(prices: PriceBars, windowMs: number): RealisedVolatility {
  const windowBars = windowMs / prices.barMs
  assert(Number.isInteger(windowBars) && windowBars > 0, 'a window is a whole number of bars')
  const used = usedBars(prices, windowBars)
  if (used.length < barsMin(windowBars)) return { ...UNKNOWN, bars: used.length }
  const annualised = (variance: number) => annualisedVolatilityPct(variance, prices.barMs)
  const closeToClosePct = annualised(closeToCloseVariance(used))
  const parkinsonPct = annualised(parkinsonVariance(used))
  return {
    closeToClosePct,
    parkinsonPct,
    yangZhangPct: annualised(yangZhangVariance(used)),
    parkinsonToCloseRatio: closeToClosePct > 0 ? parkinsonPct / closeToClosePct : null,
    bars: used.length,
  }
}

/** Log returns of one bar. */
type LogBar = {
  /** ln(close / previous close): of closes alone, so that it does not round with the open. */
  readonly move: number
  /** ln(open / previous close). */
  readonly opening: number
  /** ln(close / open). */
  readonly body: number
  /** ln(high / open), at least 0. */
  readonly up: number
  /** ln(low / open), at most 0. */
  readonly down: number
}

function usedBars({ open, high, low, close }: PriceBars, windowBars: number): readonly LogBar[] {
  const count = close.length
  const isEven = open.length === count && high.length === count && low.length === count
  assert(isEven, 'columns of bars have one length')
  const used: LogBar[] = []
  for (let at = Math.max(1, count - windowBars); at < count; at += 1) {
    const [opened, closed] = [open[at] as number, close[at] as number]
    const [highest, lowest] = [high[at] as number, low[at] as number]
    const before = close[at - 1] as number
    if (![before, opened, highest, lowest, closed].every(isPrice)) continue
    used.push({
      move: Math.log(closed / before),
      opening: Math.log(opened / before),
      body: Math.log(closed / opened),
      up: Math.log(Math.max(highest, opened, closed) / opened),
      down: Math.log(Math.min(lowest, opened, closed) / opened),
    })
  }
  return used
}

function isPrice(value: number): boolean {
  return value > 0 && value < Number.POSITIVE_INFINITY
}

/**
 * Mean squared log return from close to close. The mean return is taken as zero: over hours and days its estimate is
 * noise larger than itself (Figlewski, "Forecasting Volatility", 1997).
 */
function closeToCloseVariance(bars: readonly LogBar[]): number {
  return meanOf(bars, ({ move }) => move ** 2)
}

/**
 * Parkinson, "The Extreme Value Method for Estimating the Variance of the Rate of Return", Journal of Business 53
 * (1980): mean of ln(high / low)^2 / (4 ln 2). For a driftless continuous price it has a fifth of the variance of
 * close-to-close. It has no part of a move from a close to the next open, and n trades in a bar
 * show less than the range: about 1 - 1.34 / sqrt(n) of the variance (Broadie, Glasserman, Kou 1997).
 */
function parkinsonVariance(bars: readonly LogBar[]): number {
  return meanOf(bars, ({ up, down }) => (up - down) ** 2) / (4 * Math.LN2)
}

/**
 * Yang and Zhang, "Drift-Independent Volatility Estimation Based on High, Low, Open, and Close Prices", Journal of
 * Business 73 (2000): V_opening + k V_body + (1 - k) V_RS with k = 0.34 / (1.34 + (n + 1) / (n - 1)), sample variances
 * of ln(open / previous close) and ln(close / open), and the mean of Rogers and Satchell (1991).
 *
 * A market that never closes has no overnight move: the open is the first trade after the previous close, so V_opening
 * is one step between trades, and the estimate is mostly V_RS (k is at most 0.15). Unlike the other two it
 * excludes drift: a steady trend raises close-to-close and not this one.
 */
function yangZhangVariance(bars: readonly LogBar[]): number {
  const n = bars.length
  const k = 0.34 / (1.34 + (n + 1) / (n - 1))
  // Written with distances from high and low, so that no term is below zero.
  const rogersSatchell = meanOf(
    bars,
    ({ body, up, down }) => up * Math.max(0, up - body) + down * Math.min(0, down - body),
  )
  const opening = sampleVariance(bars, (bar) => bar.opening)
  const body = sampleVariance(bars, (bar) => bar.body)
  return opening + k * body + (1 - k) * rogersSatchell
}

function meanOf(bars: readonly LogBar[], read: (bar: LogBar) => number): number {
  let sum = 0
  for (const bar of bars) sum += read(bar)
  return sum / bars.length
}

function sampleVariance(bars: readonly LogBar[], read: (bar: LogBar) => number): number {
  const mean = meanOf(bars, read)
  return (meanOf(bars, (bar) => (read(bar) - mean) ** 2) * bars.length) / (bars.length - 1)
}
