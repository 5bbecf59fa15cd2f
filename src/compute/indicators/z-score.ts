import type { BarSlots, StateSlots, ValueSlots } from './pulse-layout.ts'
import { barSlot, pulseValue, stateSlot } from './pulse-layout.ts'
import { NOISE_SHARE } from './rolling-moments.ts'

const { close: CLOSE } = barSlot
const { zscore100: ZSCORE_100 } = pulseValue
const { pivot99: PIVOT, shift99: SHIFT, squares99: SQUARES } = stateSlot
const LENGTH = 100
const WEIGHT = 1 / LENGTH
const KEPT_SHARE = 1 - WEIGHT
const NOISE = LENGTH * NOISE_SHARE ** 2

/**
 * Distance of the close from the mean of 100 closes, its own included, in population deviations. NaN
 * in a flat window.
 */
export function peekZScore(state: StateSlots, bar: BarSlots, values: ValueSlots): void {
  const pivot = state[PIVOT]
  const distance = bar[CLOSE] - pivot - state[SHIFT]
  const squares = state[SQUARES] + distance * distance * KEPT_SHARE
  const isFlat = squares <= pivot * pivot * NOISE
  values[ZSCORE_100] = isFlat ? Number.NaN : (distance * KEPT_SHARE) / Math.sqrt(squares * WEIGHT)
}
