import type { Bar } from '../../src/domain/bar.ts'

const STEP_MS = 3_600_000
/** 2025-01-01T00:00:00Z */
const START_MS = 1_735_689_600_000

/** Uniform numbers in [0, 1), determined by the seed (mulberry32). */
export function seededChance(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

export type CandleScript = {
  readonly seed: number
  readonly count: number
  readonly startPrice: number
  /** Standard deviation of one bar's return, as a fraction. */
  readonly volatility: number
  /** Bars without a trade: flat at the previous close, volume 0. */
  readonly flatFrom?: number
  readonly flatUntil?: number
}

/** Hourly candles of a random walk; each opens at the previous close; prices have six decimals. */
export function seededCandles(script: CandleScript): Bar[] {
  const { flatFrom = Number.POSITIVE_INFINITY, flatUntil = flatFrom } = script
  const chance = seededChance(script.seed)
  const bars: Bar[] = []
  let close = micros(script.startPrice)
  for (let index = 0; index < script.count; index += 1) {
    const open = close
    const openTimeMs = START_MS + index * STEP_MS
    if (index >= flatFrom && index < flatUntil) {
      bars.push({ openTimeMs, open, high: open, low: open, close: open, volumeBase: 0 })
      continue
    }
    close = micros(open * Math.exp(script.volatility * normal(chance)))
    const reach = open * script.volatility * chance()
    const high = micros(Math.max(open, close) + reach)
    const low = micros(Math.min(open, close) - open * script.volatility * chance())
    const volumeBase = micros(Math.exp(4 + normal(chance)))
    bars.push({ openTimeMs, open, high, low, close, volumeBase })
  }
  return bars
}

/** Approximately normal: the sum of twelve uniform numbers. */
function normal(chance: () => number): number {
  let sum = -6
  for (let term = 0; term < 12; term += 1) sum += chance()
  return sum
}

function micros(value: number): number {
  return Math.round(value * 1e6) / 1e6
}
