/** 1 bullish, -1 bearish, 0 neutral. */
export type TrendDirection = -1 | 0 | 1
export type TrendLabel = 'bullish' | 'bearish' | 'neutral'
export type EmaStack = 'bull_aligned' | 'bear_aligned' | 'mixed' | 'flat'

/** Three EMAs within this share of the price count as equal. */
const FLAT_SHARE = 0.001

/**
 * In a flat market averages stop within about 2e-14 of the price, where the last step is below their precision; their
 * order has no meaning.
 */
const ROUNDING_SHARE = 1e-12

/** Whether a price is above an average by more than rounding. */
export function isAbove(price: number, average: number): boolean {
  return price - average > price * ROUNDING_SHARE
}

type Averages = {
  readonly price: number
  readonly ema20: number
  readonly ema50: number
  readonly ema200: number
}

/** Bullish: EMA 20 above EMA 50 and the price above EMA 50. Bearish: both below. */
export function trendDirection(at: Omit<Averages, 'ema200'>): TrendDirection {
  const rounding = at.price * ROUNDING_SHARE
  const fast = at.ema20 - at.ema50
  const price = at.price - at.ema50
  if (fast > rounding && price > rounding) return 1
  if (fast < -rounding && price < -rounding) return -1
  return 0
}

export function trendLabel(direction: TrendDirection): TrendLabel {
  return direction === 1 ? 'bullish' : direction === -1 ? 'bearish' : 'neutral'
}

/** Order of the three averages: shortest on top is bullish, longest on top bearish. */
export function emaStack({ price, ema20, ema50, ema200 }: Averages): EmaStack {
  const spread = Math.max(ema20, ema50, ema200) - Math.min(ema20, ema50, ema200)
  if (spread <= FLAT_SHARE * price) return 'flat'
  if (ema20 > ema50 && ema50 > ema200) return 'bull_aligned'
  if (ema20 < ema50 && ema50 < ema200) return 'bear_aligned'
  return 'mixed'
}
