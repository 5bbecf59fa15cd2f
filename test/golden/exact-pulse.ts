import type { Table } from './candle-table.ts'

/** Decimals to which every number of a table is scaled. */
const DECIMALS = 12

export type ExactRow = {
  /** Exact except for the last one or two digits; NaN if undefined. */
  readonly vwap20: number
  readonly zscore100: number
  /** null until the averages exist. */
  readonly direction: -1 | 0 | 1 | null
  readonly stack: string | null
}

/**
 * VWAP, z-score, trend and stack of a candle table in exact arithmetic: the decimal text of the table
 * becomes integers, an exponential average stays a fraction that is never rounded, and averages are
 * compared by cross-multiplication.
 */
export function exactPulse(table: Table): ExactRow[] {
  const column = (name: string) =>
    Array.from({ length: table.rows }, (_, row) => scaled(table.cell(name, row)))
  const [high, low, close, volume] = [column('h'), column('l'), column('c'), column('v')]
  const averages = [20, 50, 200].map((length) => exponential(close, length))
  return close.map((price, row) => {
    const [ema20, ema50, ema200] = averages.map((average) => average[row] ?? null)
    return {
      vwap20: row < 19 ? Number.NaN : vwap(row - 19, row, high, low, close, volume),
      zscore100: row < 99 ? Number.NaN : zscore(price, close.slice(row - 99, row + 1)),
      direction: ema20 && ema50 ? direction(price, ema20, ema50) : null,
      stack: ema20 && ema50 && ema200 ? stack(price, [ema20, ema50, ema200]) : null,
    }
  })
}

type Fraction = { readonly over: bigint; readonly under: bigint }

function scaled(text: string): bigint {
  const [mantissa = '', exponent = '0'] = text.toLowerCase().split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  const shift = DECIMALS + Number(exponent) - fraction.length
  const digits = BigInt(whole + fraction)
  if (shift >= 0) return digits * 10n ** BigInt(shift)
  const divisor = 10n ** BigInt(-shift)
  if (digits % divisor !== 0n) throw new Error(`${text} has more than ${DECIMALS} decimals`)
  return digits / divisor
}

function vwap(
  from: number,
  to: number,
  high: readonly bigint[],
  low: readonly bigint[],
  close: readonly bigint[],
  volume: readonly bigint[],
): number {
  let turnover = 0n
  let total = 0n
  for (let row = from; row <= to; row += 1) {
    const traded = volume[row] ?? 0n
    turnover += ((high[row] ?? 0n) + (low[row] ?? 0n) + (close[row] ?? 0n)) * traded
    total += traded
  }
  return total === 0n ? Number.NaN : Number(turnover) / Number(3n * total) / 10 ** DECIMALS
}

/** (c - mean) / sd = (n c - sum) / sqrt(n sum of squares - sum squared). */
function zscore(price: bigint, window: readonly bigint[]): number {
  const count = BigInt(window.length)
  const sum = window.reduce((total, value) => total + value, 0n)
  const squares = window.reduce((total, value) => total + value * value, 0n)
  const spread = count * squares - sum * sum
  return spread === 0n ? Number.NaN : Number(count * price - sum) / Math.sqrt(Number(spread))
}

/** Seed: mean of the first `length`. Then ((length - 1) x average + 2 x close) / (length + 1). */
function exponential(close: readonly bigint[], length: number): (Fraction | null)[] {
  const size = BigInt(length)
  let average: Fraction | null = null
  let sum = 0n
  return close.map((price, row) => {
    sum += price
    if (row === length - 1) average = { over: sum, under: size }
    else if (average !== null) {
      const over: bigint = (size - 1n) * average.over + 2n * price * average.under
      average = { over, under: (size + 1n) * average.under }
    }
    return average
  })
}

function direction(price: bigint, fast: Fraction, slow: Fraction): -1 | 0 | 1 {
  const priceSide = compare({ over: price, under: 1n }, slow)
  const fastSide = compare(fast, slow)
  return priceSide === fastSide ? fastSide : 0
}

function stack(price: bigint, averages: readonly [Fraction, Fraction, Fraction]): string {
  const [fast, middle, slow] = averages
  const sorted = [...averages].sort(compare)
  const [least, , most] = sorted as [Fraction, Fraction, Fraction]
  const spread = {
    over: most.over * least.under - least.over * most.under,
    under: most.under * least.under,
  }
  if (compare(spread, { over: price, under: 1000n }) <= 0) return 'flat'
  if (compare(fast, middle) === 1 && compare(middle, slow) === 1) return 'bull_aligned'
  if (compare(fast, middle) === -1 && compare(middle, slow) === -1) return 'bear_aligned'
  return 'mixed'
}

function compare(a: Fraction, b: Fraction): -1 | 0 | 1 {
  const difference = a.over * b.under - b.over * a.under
  return difference > 0n ? 1 : difference < 0n ? -1 : 0
}
