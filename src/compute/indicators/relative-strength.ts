import type { BarSlots, StateSlots, ValueSlots } from './pulse-layout.ts'
import { barSlot, pulseValue, stateSlot } from './pulse-layout.ts'

const { close: CLOSE } = barSlot
const { rsi14: RSI_14 } = pulseValue
const { barCount: BAR_COUNT, previousClose: PREVIOUS_CLOSE } = stateSlot
const { gain14: GAIN, loss14: LOSS } = stateSlot
const LENGTH = 14
const WEIGHT = 1 / LENGTH

/**
 * Wilder's averages of gains and losses: the mean of the first 14 changes, then weight 1/14 for the newest. (|x| + x) /
 * 2 is the positive part of x, exactly and without an unpredictable branch.
 */
export function foldRelativeStrength(state: StateSlots, bar: BarSlots): void {
  const index = state[BAR_COUNT]
  const weight = index < LENGTH ? 1 / index : WEIGHT
  const change = bar[CLOSE] - state[PREVIOUS_CLOSE]
  const distance = Math.abs(change)
  state[GAIN] += ((distance + change) / 2 - state[GAIN]) * weight
  state[LOSS] += ((distance - change) / 2 - state[LOSS]) * weight
}

/**
 * RSI = 100 x gain / (gain + loss), first at bar 14. Without any movement it is 0, as in TA-Lib. TA-Lib also returns 0
 * for sums below 1e-14 USD; here only for exactly 0, because the price of some coins is not much larger.
 */
export function peekRelativeStrength(state: StateSlots, bar: BarSlots, values: ValueSlots): void {
  const change = bar[CLOSE] - state[PREVIOUS_CLOSE]
  const distance = Math.abs(change)
  const gain = state[GAIN] * (LENGTH - 1) + (distance + change) / 2
  const movement = (state[GAIN] + state[LOSS]) * (LENGTH - 1) + distance
  values[RSI_14] = movement === 0 ? 0 : (100 * gain) / movement
}
