import { pulseValue } from './pulse-layout.ts'

/**
 * Largest influence of the seed on a published value: as a share of the price for an EMA, of itself for ATR, of 100
 * points for RSI.
 */
const SEED_ERROR_MAX = 1e-4

/**
 * Bounds of the seed's error, because earlier data are unknown. An EMA's seed lies within one current price of the
 * average over the whole history (0.81 at most in the recorded candles of 16 coins). Ranges and moves that seed
 * Wilder's averages are at most a million times the current ones: a market may have stopped trading since.
 */
const EMA_SEED_ERROR = 1
const WILDER_SEED_ERROR = 1e6

const WILDER_LENGTH = 14

/** A recursive value, and the bars, including the forming one, from which it is published. */
type Recursive = { readonly field: string; readonly value: number; readonly bars: number }

/** In the order of their bars. */
export const recursiveValues: readonly Recursive[] = [
  { field: 'ema_20', value: pulseValue.ema20, bars: emaBars(20) },
  { field: 'ema_50', value: pulseValue.ema50, bars: emaBars(50) },
  { field: 'rsi_14', value: pulseValue.rsi14, bars: wilderBars() },
  { field: 'atr_14', value: pulseValue.atr14, bars: wilderBars() },
  { field: 'ema_200', value: pulseValue.ema200, bars: emaBars(200) },
]

/** Bars, including the forming one, from which all values are published, and from which all but EMA 200 are. */
export const SETTLED_BARS = emaBars(200)
export const SETTLED_BARS_BUT_EMA_200 = wilderBars()

/**
 * Recursive averages keep a part of their seed: k^n after n bars, if they keep the share k of themselves each bar.
 * Values with a visible seed become NaN.
 * @param bars of the series, including the forming one
 */
export function withholdUnsettled(values: Float64Array, bars: number): void {
  if (bars >= SETTLED_BARS) return
  for (const recursive of recursiveValues)
    if (bars < recursive.bars) values[recursive.value] = Number.NaN
}

/** The seed is the mean of the first `length` closes; the average keeps (length - 1) / (length + 1) of itself. */
function emaBars(length: number): number {
  return length + barsUntil(EMA_SEED_ERROR, (length - 1) / (length + 1))
}

/** The seed is the first 14 changes, of 15 bars; the average keeps 13/14 of itself. */
function wilderBars(): number {
  return WILDER_LENGTH + 1 + barsUntil(WILDER_SEED_ERROR, (WILDER_LENGTH - 1) / WILDER_LENGTH)
}

function barsUntil(seedError: number, kept: number): number {
  return Math.ceil(Math.log(SEED_ERROR_MAX / seedError) / Math.log(kept))
}
