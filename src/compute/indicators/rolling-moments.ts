import type { BarSlots, StateSlots } from './pulse-layout.ts'
import { barSlot, KEPT_BARS_20, RING_LENGTH, stateSlot } from './pulse-layout.ts'

const { close: CLOSE } = barSlot
const { barCount: BAR_COUNT, closes: CLOSES, pivot19: MOMENTS_19, pivot99: MOMENTS_99 } = stateSlot
const KEPT_20 = KEPT_BARS_20
const RING = RING_LENGTH
const WEIGHT_19 = 1 / KEPT_20
const WEIGHT_99 = 1 / RING

type MomentsSlot = typeof MOMENTS_19 | typeof MOMENTS_99

/** Slots of a window, from its first. */
const PIVOT = 0
/** Mean of the window's distances from its pivot. */
const SHIFT = 1
/** Sum of squared distances from the mean. */
const SQUARES = 2
/** Largest SQUARES since the window was last summed: its rounding error remains. */
const SQUARES_MAX = 3

/** Below this share of SQUARES_MAX the rounding error of the larger past becomes visible. */
const SHRINKAGE_MIN = 1e-3

/** A deviation below this share of the price is rounding, not movement. */
export const NOISE_SHARE = 1e-13

/**
 * Mean and squares of the last 19 and the last 99 closes: those that stay in a window of 20 or 100 while the next bar
 * is open. A peek adds that bar, which cancels nothing.
 * A fold slides both windows by one bar (Welford). Sliding alone accumulates rounding errors and is off by whole
 * percents after ten million bars. So a window is summed again, in two passes, once in its length and whenever most of
 * its squares have left it, such as after a spike: the rest would be the spike's rounding error.
 * The mean is kept as a distance from a close of the window, the pivot: movements are not lost in the digits of the
 * price, and a flat window is exactly flat.
 */
export function foldCloses(state: StateSlots, bar: BarSlots): void {
  const slot = (state[BAR_COUNT] | 0) % RING
  const hasShrunk20 = slide(state, bar, MOMENTS_19, WEIGHT_19, (slot + RING - KEPT_20) % RING)
  const hasShrunk100 = slide(state, bar, MOMENTS_99, WEIGHT_99, slot)
  state[CLOSES + slot] = bar[CLOSE]
  if (hasShrunk20 || slot % KEPT_20 === KEPT_20 - 1) sumAnew(state, MOMENTS_19, KEPT_20, slot)
  if (hasShrunk100 || slot === RING - 1) sumAnew(state, MOMENTS_99, RING, slot)
}

/** @returns whether most of the squares have left. The moments of an incomplete window have no meaning. */
function slide(
  state: StateSlots,
  bar: BarSlots,
  at: MomentsSlot,
  weight: number,
  leavingSlot: number,
): boolean {
  const entering = bar[CLOSE]
  const leaving = state[CLOSES + leavingSlot] as number
  const pivot = state[at + PIVOT] as number
  const shift = state[at + SHIFT] as number
  const nextShift = shift + (entering - leaving) * weight
  const distances = entering - pivot - nextShift + (leaving - pivot - shift)
  const squares = (state[at + SQUARES] as number) + (entering - leaving) * distances
  const squaresMax = state[at + SQUARES_MAX] as number
  state[at + SHIFT] = nextShift
  state[at + SQUARES] = squares
  state[at + SQUARES_MAX] = Math.max(squares, squaresMax)
  return squares < squaresMax * SHRINKAGE_MIN
}

/** Two passes, with the newest close as pivot. */
function sumAnew(state: StateSlots, at: MomentsSlot, length: number, newest: number): void {
  const pivot = state[CLOSES + newest] as number
  let sum = 0
  for (let age = 1, slot = newest; age < length; age += 1) {
    slot = slot === 0 ? RING - 1 : slot - 1
    sum += (state[CLOSES + slot] as number) - pivot
  }
  const shift = sum / length
  let squares = shift * shift
  for (let age = 1, slot = newest; age < length; age += 1) {
    slot = slot === 0 ? RING - 1 : slot - 1
    const distance = (state[CLOSES + slot] as number) - pivot - shift
    squares += distance * distance
  }
  state[at + PIVOT] = pivot
  state[at + SHIFT] = shift
  state[at + SQUARES] = squares
  state[at + SQUARES_MAX] = squares
}
