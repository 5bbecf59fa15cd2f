import type { BarSlots, StateSlots, ValueSlots } from './pulse-layout.ts'
import { barSlot, KEPT_BARS_20, pulseValue, stateSlot } from './pulse-layout.ts'

const { high: HIGH, low: LOW, close: CLOSE, volume: VOLUME } = barSlot
const { vwap20: VWAP_20 } = pulseValue
const { barCount: BAR_COUNT, turnover19: TURNOVER, volume19: VOLUME_KEPT } = stateSlot
const { blockTurnover: BLOCK_TURNOVER, blockVolume: BLOCK_VOLUME } = stateSlot
const { turnovers: TURNOVERS, volumes: VOLUMES } = stateSlot
const KEPT = KEPT_BARS_20
const THIRD = 1 / 3

/**
 * Sums over the last 19 bars without subtraction. Bars are counted in blocks of 19. A window is the rest of the
 * previous block, whose sums from each slot to its end were computed when it was complete, and the current block, whose
 * sum is kept. So rounding errors do not accumulate, and a window without volume sums to exactly 0. Both blocks share
 * one array: a bar overwrites the slot whose sum is no longer needed.
 */
export function foldVwap(state: StateSlots, bar: BarSlots): void {
  const slot = (state[BAR_COUNT] | 0) % KEPT
  const volume = bar[VOLUME]
  const turnover = (bar[HIGH] + bar[LOW] + bar[CLOSE]) * THIRD * volume
  state[TURNOVERS + slot] = turnover
  state[VOLUMES + slot] = volume
  if (slot === KEPT - 1) {
    state[TURNOVER] = sumToTheEnd(state, TURNOVERS)
    state[VOLUME_KEPT] = sumToTheEnd(state, VOLUMES)
    state[BLOCK_TURNOVER] = 0
    state[BLOCK_VOLUME] = 0
    return
  }
  state[BLOCK_TURNOVER] += turnover
  state[BLOCK_VOLUME] += volume
  state[TURNOVER] = (state[TURNOVERS + slot + 1] as number) + state[BLOCK_TURNOVER]
  state[VOLUME_KEPT] = (state[VOLUMES + slot + 1] as number) + state[BLOCK_VOLUME]
}

/** Typical price (high + low + close) / 3, weighted by volume over 20 bars; NaN without volume. */
export function peekVwap(state: StateSlots, bar: BarSlots, values: ValueSlots): void {
  const volume = bar[VOLUME]
  const turnover = (bar[HIGH] + bar[LOW] + bar[CLOSE]) * THIRD * volume
  values[VWAP_20] = (state[TURNOVER] + turnover) / (state[VOLUME_KEPT] + volume)
}

function sumToTheEnd(state: StateSlots, at: number): number {
  let sum = 0
  for (let slot = at + KEPT - 1; slot >= at; slot -= 1) {
    sum += state[slot] as number
    state[slot] = sum
  }
  return sum
}
