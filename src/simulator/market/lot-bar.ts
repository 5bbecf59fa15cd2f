/** A bar whose volume is counted in whole lots, so that sums of parts are exact. */
export type LotBar = {
  readonly open: number
  readonly high: number
  readonly low: number
  readonly close: number
  readonly lots: number
  readonly trades: number
}

export const MINUTE_MS = 60_000
export const QUARTER_MS = 15 * MINUTE_MS
export const MINUTES_A_QUARTER = 15
export const QUARTERS_A_DAY = 96

/** A bar without trades: the price does not change. */
export function flatBar(price: number): LotBar {
  return { open: price, high: price, low: price, close: price, lots: 0, trades: 0 }
}

/**
 * One bar of several consecutive ones. The venue opens a bar with its first trade, so parts without any say
 * nothing of where it began or how far it went. @returns undefined for none.
 */
export function mergeBars(bars: Iterable<LotBar>): LotBar | undefined {
  let merged: { -readonly [K in keyof LotBar]: LotBar[K] } | undefined
  for (const bar of bars) {
    if (merged === undefined || (merged.trades === 0 && bar.trades > 0)) {
      merged = { ...bar }
      continue
    }
    if (bar.trades === 0) continue
    if (bar.high > merged.high) merged.high = bar.high
    if (bar.low < merged.low) merged.low = bar.low
    merged.close = bar.close
    merged.lots += bar.lots
    merged.trades += bar.trades
  }
  return merged
}

/** Fewest trades that can have made a bar: first, last, and one for each extreme beyond them. */
export function tradesAtLeast(bar: Omit<LotBar, 'trades' | 'lots'>): number {
  const { open, high, low, close } = bar
  if (open === close && high === low) return 1
  return 2 + (high > Math.max(open, close) ? 1 : 0) + (low < Math.min(open, close) ? 1 : 0)
}

/**
 * Where the bars of one coin come from. Quarters (15 minutes) are the common ground; minutes and
 * longer bars only where the source knows more than can be derived. Indices count from the epoch.
 */
export interface BarSource {
  readonly firstQuarter: number
  /** For every quarter since the first. */
  quarter(index: number): LotBar
  /** undefined: derived from the quarter. */
  minute(index: number): LotBar | undefined
  /** A closed bar longer than a quarter, as recorded; undefined: merged from quarters. */
  recorded(intervalMs: number, index: number): LotBar | undefined
  /** First index for which `recorded` knows a bar. */
  firstRecorded(intervalMs: number): number | undefined
  /** Hourly rate settled at the end of the hour; undefined: modelled. */
  settledFunding(hour: number): number | undefined
}
