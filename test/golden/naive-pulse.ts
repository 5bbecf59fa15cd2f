import type { Bar } from '../../src/domain/bar.ts'

export type NaivePulse = Record<
  | 'rsi14'
  | 'atr14'
  | 'ema20'
  | 'ema50'
  | 'ema200'
  | 'vwap20'
  | 'zscore100'
  | 'middle'
  | 'deviation',
  number
>

/**
 * The pulse indicators after each bar, directly by their definitions: no state between bars, every window
 * summed from its start. NaN if undefined. Written independently of the incremental code under test.
 */
export function naivePulse(bars: readonly Bar[]): NaivePulse[] {
  const closes = bars.map((bar) => bar.close)
  const changes = closes.slice(1).map((close, at) => close - valueAt(closes, at))
  const gains = wilder(changes.map((change) => Math.max(change, 0)))
  const losses = wilder(changes.map((change) => Math.max(-change, 0)))
  const trueRanges = wilder(
    bars.slice(1).map(({ high, low }, at) => {
      const previous = valueAt(closes, at)
      return Math.max(high - low, Math.abs(high - previous), Math.abs(low - previous))
    }),
  )
  const [ema20, ema50, ema200] = [20, 50, 200].map((length) => exponential(closes, length))
  return bars.map((_, index) => {
    const gain = gains[index - 1] ?? Number.NaN
    const loss = losses[index - 1] ?? Number.NaN
    const bands = moments(lastOf(closes, index, 20))
    const wide = moments(lastOf(closes, index, 100))
    return {
      rsi14: gain + loss === 0 ? 0 : (100 * gain) / (gain + loss),
      atr14: trueRanges[index - 1] ?? Number.NaN,
      ema20: ema20?.[index] ?? Number.NaN,
      ema50: ema50?.[index] ?? Number.NaN,
      ema200: ema200?.[index] ?? Number.NaN,
      vwap20: vwap(lastOf(bars, index, 20)),
      zscore100:
        wide.deviation === 0 ? Number.NaN : (valueAt(closes, index) - wide.mean) / wide.deviation,
      middle: bands.mean,
      deviation: bands.deviation,
    }
  })
}

/** Mean and population deviation in two passes; a deviation below 1e-13 of the mean is rounding error. */
export function moments(window: readonly number[]): { mean: number; deviation: number } {
  const mean = sum(window) / window.length
  const deviation = Math.sqrt(sum(window.map((value) => (value - mean) ** 2)) / window.length)
  return { mean, deviation: deviation <= 1e-13 * Math.abs(mean) ? 0 : deviation }
}

/** Wilder's average: mean of the first 14, then 1/14 of each next value. */
function wilder(values: readonly number[]): number[] {
  const averages: number[] = []
  values.forEach((value, at) => {
    if (at < 13) averages.push(Number.NaN)
    else if (at === 13) averages.push(sum(values.slice(0, 14)) / 14)
    else averages.push((valueAt(averages, at - 1) * 13 + value) / 14)
  })
  return averages
}

function exponential(values: readonly number[], length: number): number[] {
  const averages: number[] = []
  values.forEach((value, at) => {
    if (at < length - 1) averages.push(Number.NaN)
    else if (at === length - 1) averages.push(sum(values.slice(0, length)) / length)
    else
      averages.push(
        valueAt(averages, at - 1) + (2 / (length + 1)) * (value - valueAt(averages, at - 1)),
      )
  })
  return averages
}

function vwap(window: readonly Bar[]): number {
  const turnover = sum(
    window.map(({ high, low, close, volumeBase }) => ((high + low + close) / 3) * volumeBase),
  )
  return turnover / sum(window.map((bar) => bar.volumeBase))
}

/** Empty with fewer values, so that every mean over it is NaN. */
function lastOf<Value>(values: readonly Value[], index: number, length: number): readonly Value[] {
  return index + 1 < length ? [] : values.slice(index + 1 - length, index + 1)
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

function valueAt(values: readonly number[], index: number): number {
  return values[index] ?? Number.NaN
}
