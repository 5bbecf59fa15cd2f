/**
 * Memory layout of the pulse indicators. Inputs, outputs and state are slots of Float64Arrays, because V8 boxes a
 * double that crosses a call without inlining. Files on the hot path copy their slots into local constants, because V8
 * folds a constant of the same module into machine code, but not an imported one.
 */

/** Bar that the next `fold` or `peek` reads. Prices in USD, volume in the coin's unit. */
export const barSlot = { high: 0, low: 1, close: 2, volume: 3 } as const

/** Output of `peek`. NaN: not enough bars, or undefined for this window. */
export const pulseValue = {
  rsi14: 0,
  atr14: 1,
  ema20: 2,
  ema50: 3,
  ema200: 4,
  vwap20: 5,
  zscore100: 6,
  bollingerUpper: 7,
  bollingerMiddle: 8,
  bollingerLower: 9,
} as const

/**
 * Bars kept of a window: all before the newest, which peek adds. The ring of closes has the length of the longest
 * window; the shorter one reads the same ring.
 */
export const RING_LENGTH = 99
export const KEPT_BARS_20 = 19

export const stateSlot = {
  /** Number of folded bars, which is the index of the next one. */
  barCount: 0,
  previousClose: 1,
  /** Wilder averages. */
  gain14: 2,
  loss14: 3,
  trueRange14: 4,
  ema20: 5,
  ema50: 6,
  ema200: 7,
  /** Sum of the first closes, until the last average is seeded. */
  closeSum: 8,
  /** See `rolling-moments.ts`: of the last 19 closes, then of the last 99. */
  pivot19: 9,
  shift19: 10,
  squares19: 11,
  squaresMax19: 12,
  pivot99: 13,
  shift99: 14,
  squares99: 15,
  squaresMax99: 16,
  /** See `rolling-vwap.ts`: of the last 19 bars, of their unfinished block, and its 19 slots each. */
  turnover19: 17,
  volume19: 18,
  blockTurnover: 19,
  blockVolume: 20,
  turnovers: 21,
  volumes: 40,
  closes: 59,
} as const

/** Slots of a series, rounded up to whole cache lines of eight. */
export const STATE_LENGTH = Math.ceil((stateSlot.closes + RING_LENGTH) / 8) * 8

type Slots<Layout> = Float64Array & { [Slot in Extract<Layout[keyof Layout], number>]: number }

export type BarSlots = Slots<typeof barSlot>
export type ValueSlots = Slots<typeof pulseValue>
export type StateSlots = Slots<typeof stateSlot>
