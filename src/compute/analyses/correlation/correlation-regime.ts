export const regimes = ['CORRELATED', 'MIXED', 'DECORRELATED', 'UNKNOWN'] as const
export type CorrelationRegime = (typeof regimes)[number]

/** Minimum data for a regime. */
const REGIME_COINS_MIN = 8
const REGIME_CANDLES_MIN = 100

const CORRELATED_ABOVE = 0.7
const DECORRELATED_BELOW = 0.3

/**
 * Regime of an average correlation to BTC, as published. Exactly 0.3 and 0.7 are MIXED.
 * @param candles Infinity for the short window
 */
export function correlationRegime(
  average: number | null,
  coins: number,
  candles: number,
): CorrelationRegime {
  if (average === null || coins < REGIME_COINS_MIN || candles < REGIME_CANDLES_MIN) return 'UNKNOWN'
  if (average > CORRELATED_ABOVE) return 'CORRELATED'
  return average < DECORRELATED_BELOW ? 'DECORRELATED' : 'MIXED'
}
