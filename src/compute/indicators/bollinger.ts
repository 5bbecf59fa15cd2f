import type { BarSlots, StateSlots, ValueSlots } from './pulse-layout.ts'
import { barSlot, pulseValue, stateSlot } from './pulse-layout.ts'
import { NOISE_SHARE } from './rolling-moments.ts'

const { close: CLOSE } = barSlot
const { bollingerUpper: UPPER, bollingerMiddle: MIDDLE, bollingerLower: LOWER } = pulseValue
const { pivot19: PIVOT, shift19: SHIFT, squares19: SQUARES } = stateSlot
const LENGTH = 20
/** Multiplication is several times faster than division, here and in the other indicator files. */
const WEIGHT = 1 / LENGTH
const KEPT_SHARE = 1 - WEIGHT
const NOISE = LENGTH * NOISE_SHARE ** 2
const REACH_DEVIATIONS = 2

/** Mean of 20 closes and two population standard deviations to either side; all equal in a flat window. */
export function peekBollinger(state: StateSlots, bar: BarSlots, values: ValueSlots): void {
  const pivot = state[PIVOT]
  const distance = bar[CLOSE] - pivot - state[SHIFT]
  const mean = pivot + (state[SHIFT] + distance * WEIGHT)
  const squares = state[SQUARES] + distance * distance * KEPT_SHARE
  const isFlat = squares <= pivot * pivot * NOISE
  const reach = isFlat ? 0 : Math.sqrt(squares * WEIGHT) * REACH_DEVIATIONS
  values[UPPER] = mean + reach
  values[MIDDLE] = mean
  values[LOWER] = mean - reach
}
