/** 1 bullish, -1 bearish, 0 neutral. */
export type TrendDirection = -1 | 0 | 1
export type TrendLabel = 'bullish' | 'bearish' | 'neutral'
export type EmaStack = 'bull_aligned' | 'bear_aligned' | 'mixed' | 'flat'

/** EMAs that lie within this share of the price, all three, are one line. */
const FLAT_SHARE = 0.001

/**
 * In a market that stands still, averages stop within about 2e-14 of the price: the last step towards
 * it is below their precision. Which of them stopped higher means nothing.
 */
const ROUNDING_SHARE = 1e-12

/** Whether a price lies above an average by more than rounding. */
export function isAbove(price: number, average: number): boolean {
  return price - average > price * ROUNDING_SHARE
}

/** Bullish: EMA 20 above EMA 50 and the price above EMA 50. Bearish: both below. */
export function trendDirection(at: {
  readonly price: number
  readonly ema20: number
  readonly ema50: number
}): TrendDirection {
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

/** The order of the three averages: shortest on top is a bull's, longest on top a bear's. */
export function emaStack(at: {
  readonly price: number
  readonly ema20: number
  readonly ema50: number
  readonly ema200: number
}): EmaStack {
  const { price, ema20, ema50, ema200 } = at
  const spread = Math.max(ema20, ema50, ema200) - Math.min(ema20, ema50, ema200)
  if (spread <= FLAT_SHARE * price) return 'flat'
  if (ema20 > ema50 && ema50 > ema200) return 'bull_aligned'
  if (ema20 < ema50 && ema50 < ema200) return 'bear_aligned'
  return 'mixed'
}
