import type { BarSlots, StateSlots, ValueSlots } from './pulse-layout.ts'
import { barSlot, pulseValue, stateSlot } from './pulse-layout.ts'

/** From this number of bars all values are known and nothing in this file is called. */
export const WARM_BARS = 200

/** Bars that a value needs, including the peeked one. */
const barsNeeded = [
  [pulseValue.rsi14, 15],
  [pulseValue.atr14, 15],
  [pulseValue.ema20, 20],
  [pulseValue.ema50, 50],
  [pulseValue.ema200, 200],
  [pulseValue.vwap20, 20],
  [pulseValue.zscore100, 100],
  [pulseValue.bollingerUpper, 20],
  [pulseValue.bollingerMiddle, 20],
  [pulseValue.bollingerLower, 20],
] as const

const averages = [
  { length: 20, state: stateSlot.ema20, value: pulseValue.ema20 },
  { length: 50, state: stateSlot.ema50, value: pulseValue.ema50 },
  { length: 200, state: stateSlot.ema200, value: pulseValue.ema200 },
] as const

/**
 * Corrects the first bars, because the indicators compute as if a series had no beginning. An exponential average
 * starts, as in TA-Lib, as the mean of the first `length` closes. Wilder's averages start at bar 1, the first one with
 * a change.
 */
export function foldWarmUp(state: StateSlots, bar: BarSlots): void {
  const index = state[stateSlot.barCount]
  if (index === 0) {
    state[stateSlot.gain14] = 0
    state[stateSlot.loss14] = 0
    state[stateSlot.trueRange14] = 0
  }
  state[stateSlot.closeSum] += bar[barSlot.close]
  for (const average of averages) {
    if (index === average.length - 1) {
      state[average.state] = state[stateSlot.closeSum] / average.length
    }
  }
}

/** Sets values that need more bars to NaN. */
export function peekWarmUp(state: StateSlots, bar: BarSlots, values: ValueSlots): void {
  const index = state[stateSlot.barCount]
  for (const average of averages) {
    if (index === average.length - 1) {
      values[average.value] = (state[stateSlot.closeSum] + bar[barSlot.close]) / average.length
    }
  }
  for (const [value, bars] of barsNeeded) if (index + 1 < bars) values[value] = Number.NaN
}
