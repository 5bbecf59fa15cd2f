export const regimes = ['CORRELATED', 'MIXED', 'DECORRELATED', 'UNKNOWN'] as const
export type CorrelationRegime = (typeof regimes)[number]

/** Fewer say nothing about a market. */
const REGIME_COINS_MIN = 8
const REGIME_CANDLES_MIN = 100

const CORRELATED_ABOVE = 0.7
const DECORRELATED_BELOW = 0.3

/**
 * Word for an average correlation to BTC, as it is shown. 0.3 and 0.7 themselves are MIXED.
 * @param candles Infinity where the window is meant to be short
 */
export function regimeOf(
  average: number | null,
  coins: number,
  candles: number,
): CorrelationRegime {
  if (average === null || coins < REGIME_COINS_MIN || candles < REGIME_CANDLES_MIN) return 'UNKNOWN'
  if (average > CORRELATED_ABOVE) return 'CORRELATED'
  return average < DECORRELATED_BELOW ? 'DECORRELATED' : 'MIXED'
}
