export type RsiZone = 'overbought' | 'bullish' | 'neutral' | 'bearish' | 'oversold'

/** The specification leaves values on a boundary open: 70, 60 and 30 belong to the outer zone, 40 too. */
export function rsiZone(rsi: number): RsiZone {
  if (rsi >= 70) return 'overbought'
  if (rsi >= 60) return 'bullish'
  if (rsi > 40) return 'neutral'
  if (rsi > 30) return 'bearish'
  return 'oversold'
}
