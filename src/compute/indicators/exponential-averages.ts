import type { BarSlots, StateSlots, ValueSlots } from './pulse-layout.ts'
import { barSlot, pulseValue, stateSlot } from './pulse-layout.ts'

const { close: CLOSE } = barSlot
const { ema20: VALUE_20, ema50: VALUE_50, ema200: VALUE_200 } = pulseValue
const { ema20: EMA_20, ema50: EMA_50, ema200: EMA_200 } = stateSlot
const WEIGHT_20 = 2 / 21
const WEIGHT_50 = 2 / 51
const WEIGHT_200 = 2 / 201

/** Weight 2 / (length + 1) for the newest close. `warm-up.ts` seeds them. */
export function foldExponentialAverages(state: StateSlots, bar: BarSlots): void {
  const close = bar[CLOSE]
  state[EMA_20] += (close - state[EMA_20]) * WEIGHT_20
  state[EMA_50] += (close - state[EMA_50]) * WEIGHT_50
  state[EMA_200] += (close - state[EMA_200]) * WEIGHT_200
}

export function peekExponentialAverages(
  state: StateSlots,
  bar: BarSlots,
  values: ValueSlots,
): void {
  const close = bar[CLOSE]
  values[VALUE_20] = state[EMA_20] + (close - state[EMA_20]) * WEIGHT_20
  values[VALUE_50] = state[EMA_50] + (close - state[EMA_50]) * WEIGHT_50
  values[VALUE_200] = state[EMA_200] + (close - state[EMA_200]) * WEIGHT_200
}
