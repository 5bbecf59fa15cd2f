import type { BarSlots, StateSlots, ValueSlots } from './pulse-layout.ts'
import { barSlot, pulseValue, stateSlot } from './pulse-layout.ts'

const { high: HIGH, low: LOW } = barSlot
const { atr14: ATR_14 } = pulseValue
const { barCount: BAR_COUNT, previousClose: PREVIOUS_CLOSE, trueRange14: TRUE_RANGE } = stateSlot
const LENGTH = 14
const WEIGHT = 1 / LENGTH

/**
 * Wilder's average of true ranges, seeded with the mean of the first 14, from bar 1 on: bar 0 has no previous close, as
 * in TA-Lib.
 */
export function foldAverageTrueRange(state: StateSlots, bar: BarSlots): void {
  const index = state[BAR_COUNT]
  const weight = index < LENGTH ? 1 / index : WEIGHT
  const previous = state[PREVIOUS_CLOSE]
  const trueRange = Math.max(bar[HIGH], previous) - Math.min(bar[LOW], previous)
  state[TRUE_RANGE] += (trueRange - state[TRUE_RANGE]) * weight
}

/** First at bar 14. */
export function peekAverageTrueRange(state: StateSlots, bar: BarSlots, values: ValueSlots): void {
  const previous = state[PREVIOUS_CLOSE]
  const trueRange = Math.max(bar[HIGH], previous) - Math.min(bar[LOW], previous)
  values[ATR_14] = state[TRUE_RANGE] + (trueRange - state[TRUE_RANGE]) * WEIGHT
}
