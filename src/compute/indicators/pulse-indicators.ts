import { percent } from '../render/significance.ts'
import { pulseValue } from './pulse-layout.ts'
import type { RsiZone } from './rsi-zone.ts'
import { rsiZone } from './rsi-zone.ts'
import type { EmaStack, TrendDirection, TrendLabel } from './trend.ts'
import { emaStack, trendDirection, trendLabel } from './trend.ts'

/**
 * Indicators by their JSON names, unrounded. null: not enough bars, or undefined for this window (`zscore_100` and
 * `position_pct` in a flat one, `vwap_20` without volume).
 */
export type PulseIndicators = {
  readonly rsi_14: number | null
  readonly rsi_zone: RsiZone | null
  readonly atr_14: number | null
  readonly atr_pct: number | null
  readonly ema_20: number | null
  readonly ema_50: number | null
  readonly ema_200: number | null
  readonly vwap_20: number | null
  readonly zscore_100: number | null
  readonly bollinger: {
    readonly upper: number | null
    readonly middle: number | null
    readonly lower: number | null
    readonly width_pct: number | null
    /** Not percent: 0 is the lower band, 1 the upper. */
    readonly position_pct: number | null
  }
  readonly trend: {
    readonly direction: TrendDirection | null
    readonly label: TrendLabel | null
    /** Needs 200 bars; direction and label need 50. */
    readonly ema_stack: EmaStack | null
  }
}

/**
 * @param values as written by `peek`
 * @param close of the bar, USD
 */
export function pulseIndicators(values: Float64Array, close: number): PulseIndicators {
  const rsi = known(values[pulseValue.rsi14])
  const atr = known(values[pulseValue.atr14])
  const ema20 = known(values[pulseValue.ema20])
  const ema50 = known(values[pulseValue.ema50])
  const ema200 = known(values[pulseValue.ema200])
  const bollinger = bollingerOf(values, close)
  const isStill = hasNotMoved(bollinger) || (rsi === 0 && atr === 0)
  return {
    rsi_14: rsi,
    rsi_zone: rsi === null ? null : isStill ? 'neutral' : rsiZone(percent(rsi)),
    atr_14: atr,
    atr_pct: atr === null ? null : known((atr / close) * 100),
    ema_20: ema20,
    ema_50: ema50,
    ema_200: ema200,
    vwap_20: known(values[pulseValue.vwap20]),
    zscore_100: known(values[pulseValue.zscore100]),
    bollinger,
    trend: trendOf(close, ema20, ema50, ema200),
  }
}

/**
 * Whether the last 20 closes are equal. RSI then reflects older moves, because Wilder's averages keep their ratio, or
 * is TA-Lib's 0 for no moves at all: neither describes the market.
 */
export function hasNotMoved({ upper, lower }: PulseIndicators['bollinger']): boolean {
  return upper !== null && upper === lower
}

function bollingerOf(values: Float64Array, close: number): PulseIndicators['bollinger'] {
  const upper = known(values[pulseValue.bollingerUpper])
  const middle = known(values[pulseValue.bollingerMiddle])
  const lower = known(values[pulseValue.bollingerLower])
  if (upper === null || middle === null || lower === null)
    return { upper, middle, lower, width_pct: null, position_pct: null }
  return {
    upper,
    middle,
    lower,
    width_pct: known(((upper - lower) / middle) * 100),
    position_pct: known((close - lower) / (upper - lower)),
  }
}

function trendOf(
  price: number,
  ema20: number | null,
  ema50: number | null,
  ema200: number | null,
): PulseIndicators['trend'] {
  if (ema20 === null || ema50 === null) return { direction: null, label: null, ema_stack: null }
  const direction = trendDirection({ price, ema20, ema50 })
  return {
    direction,
    label: trendLabel(direction),
    ema_stack: ema200 === null ? null : emaStack({ price, ema20, ema50, ema200 }),
  }
}

/** A price of 0 makes a percentage infinite; that is unknown as well. */
function known(value: number | undefined): number | null {
  return value !== undefined && Number.isFinite(value) ? value : null
}
