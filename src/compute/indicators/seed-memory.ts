import { pulseValue } from './pulse-layout.ts'

/**
 * How far the seed of a recursive average may still move a published value: this share of the price for an EMA, of
 * itself for ATR, of its 100 points for RSI.
 */
const SEED_ERROR_MAX = 1e-4

/**
 * Bounds of how wrong a seed can be, because nothing before it is known. An EMA's seed lies within one present price of
 * the average over the whole history (0.81 at most in the recorded candles of 16 coins). The ranges and moves that seed
 * Wilder's averages are at most a million times the present ones: a market may have stopped trading since.
 */
const EMA_SEED_ERROR = 1
const WILDER_SEED_ERROR = 1e6

const WILDER_LENGTH = 14

/** A recursive value of the pulse set, and the bars, the forming one included, from which on it is published. */
type Recursive = { readonly field: string; readonly value: number; readonly bars: number }

/** In the order of their bars. */
export const recursiveValues: readonly Recursive[] = [
  { field: 'ema_20', value: pulseValue.ema20, bars: emaBars(20) },
  { field: 'ema_50', value: pulseValue.ema50, bars: emaBars(50) },
  { field: 'rsi_14', value: pulseValue.rsi14, bars: wilderBars() },
  { field: 'atr_14', value: pulseValue.atr14, bars: wilderBars() },
  { field: 'ema_200', value: pulseValue.ema200, bars: emaBars(200) },
]

/** Bars, the forming one included, from which on nothing is withheld, and from which on all but EMA 200 is known. */
export const SETTLED_BARS = emaBars(200)
export const SETTLED_BARS_BUT_EMA_200 = wilderBars()

/**
 * Recursive averages never forget their seed: an average that keeps the share k of itself a bar has k^n of the seed
 * after n bars. Values whose seed can still be seen become NaN.
 * @param bars that the series has, the forming one included
 */
export function withholdUnsettled(values: Float64Array, bars: number): void {
  if (bars >= SETTLED_BARS) return
  for (const recursive of recursiveValues)
    if (bars < recursive.bars) values[recursive.value] = Number.NaN
}

/** Seeded by the mean of the first `length` closes; it keeps (length - 1) / (length + 1) of itself. */
function emaBars(length: number): number {
  return length + barsUntil(EMA_SEED_ERROR, (length - 1) / (length + 1))
}

/** Seeded by the first 14 changes, which 15 bars have; it keeps 13/14 of itself. */
function wilderBars(): number {
  return WILDER_LENGTH + 1 + barsUntil(WILDER_SEED_ERROR, (WILDER_LENGTH - 1) / WILDER_LENGTH)
}

function barsUntil(seedError: number, kept: number): number {
  return Math.ceil(Math.log(SEED_ERROR_MAX / seedError) / Math.log(kept))
}
