import {
  COMMON_RETURNS_MIN,
  DAY_AGO_HOURS,
  SHORT_WINDOW_HOURS,
  WEEK_AGO_HOURS,
  WINDOW_HOURS,
} from './correlation-window.ts'
import type { GatheredReturns } from './gathered.ts'
import type { PairInterval } from './pair-interval.ts'
import { pairInterval } from './pair-interval.ts'
import { commonReturns, pairStatistics } from './pair-statistics.ts'
import type { ProductKernel } from './product-kernel.ts'
import type { ReturnWindow } from './return-table.ts'
import { AGREEMENT } from './rolling-correlation.ts'
import { scratchCorrelations } from './scratch-correlations.ts'

/** The coin that all others are compared with. */
const LEADER = 'BTC'

/** Half a day of common hours, where the window is a day. */
const SHORT_RETURNS_MIN = SHORT_WINDOW_HOURS / 2

/** Coins beside BTC in the matrix, those with the largest open interest. */
const MATRIX_COINS = 15

/** A coin beside BTC. */
export type Correlated = {
  readonly coin: string
  readonly row: number
  /** Common hours with BTC. */
  readonly n: number
  readonly r: number
  readonly beta: number
  readonly interval: PairInterval | null
}

export type Average = { readonly average: number; readonly coins: number }

/** Everything that an answer says, unrounded. */
export type Measured = {
  readonly kind: 'measured'
  /** Those that move and have a day of hours in common with BTC, in the venue's order. Never empty. */
  readonly correlated: readonly Correlated[]
  readonly average: number
  /** Candles that the returns with BTC lie between, and the hours from the first close to the last. */
  readonly window: {
    readonly hours: number
    readonly candles: number
    firstHour: number
    lastHour: number
  }
  readonly matrix: { readonly coins: readonly string[]; readonly values: readonly number[][] }
  readonly dayAgo: Average | null
  readonly weekAgo: Average | null
  readonly short: Average | null
  /** Coins with a day of hours in common with BTC, those that do not move among them. */
  readonly coinsKnown: number
  readonly check: Check
}

/** Rolling sums against the computation from scratch. */
type Check = {
  /** Pairs that the sums had, and how many of them were off by more than 1e-9. */
  readonly pairs: number
  readonly disagreeing: number
}

/** No coin moves that has enough hours in common with BTC. */
type Lacking = { readonly kind: 'lacking'; readonly coinsKnown: number }

export function measure(gathered: GatheredReturns, kernel: ProductKernel): Measured | Lacking {
  const { coins, returns, endHour } = gathered
  const leader = coins.indexOf(LEADER)
  const window = { endHour, hours: WINDOW_HOURS }
  if (leader === -1 || Number.isNaN(endHour)) return { kind: 'lacking', coinsKnown: 0 }
  const { correlationOf, check } = checkedCorrelations(gathered, kernel, window)
  const correlated: Correlated[] = []
  let coinsKnown = 0
  for (const [row, coin] of coins.entries()) {
    if (row === leader) continue
    const { n, beta } = pairStatistics(returns, row, leader, window)
    if (n < COMMON_RETURNS_MIN) continue
    coinsKnown += 1
    const r = correlationOf(leader, row)
    if (Number.isNaN(r)) continue
    const { xs, ys } = commonReturns(returns, row, leader, window)
    correlated.push({ coin, row, n, r, beta, interval: pairInterval(xs, ys, r) })
  }
  const used = usedWindow(gathered, leader, window, correlated)
  if (used === null) return { kind: 'lacking', coinsKnown }
  const averageOver = (other: ReturnWindow, commonMin: number) =>
    averageCorrelation(gathered, leader, other, commonMin)
  const matrix = matrixCoins(gathered, leader, correlated)
  return {
    kind: 'measured',
    correlated,
    average: mean(correlated.map(({ r }) => r)),
    window: used,
    matrix: {
      coins: matrix.map((row) => coins[row] as string),
      values: matrix.map((a) => matrix.map((b) => correlationOf(a, b))),
    },
    dayAgo: averageOver({ ...window, endHour: endHour - DAY_AGO_HOURS }, COMMON_RETURNS_MIN),
    weekAgo: averageOver({ ...window, endHour: endHour - WEEK_AGO_HOURS }, COMMON_RETURNS_MIN),
    short: averageOver({ endHour, hours: SHORT_WINDOW_HOURS }, SHORT_RETURNS_MIN),
    coinsKnown,
    check,
  }
}

/** Those of the rolling sums, as long as none is off; else, and where they have none, those from scratch. */
function checkedCorrelations(
  { returns, rolled, rolledWidth }: GatheredReturns,
  kernel: ProductKernel,
  window: ReturnWindow,
) {
  const { rows } = returns
  const scratch = scratchCorrelations(kernel, returns, window, COMMON_RETURNS_MIN)
  let pairs = 0
  let disagreeing = 0
  for (let a = 0; a < rows; a += 1) {
    for (let b = a + 1; b < rows; b += 1) {
      const held = rolled[a * rolledWidth + b] as number
      if (Number.isNaN(held)) continue
      pairs += 1
      // Written so that a missing correlation from scratch disagrees too.
      if (!(Math.abs(held - (scratch[a * rows + b] as number)) <= AGREEMENT)) disagreeing += 1
    }
  }
  const correlationOf = (a: number, b: number): number => {
    const held = rolled[Math.min(a, b) * rolledWidth + Math.max(a, b)] as number
    return disagreeing === 0 && !Number.isNaN(held) ? held : (scratch[a * rows + b] as number)
  }
  return { correlationOf, check: { pairs, disagreeing } }
}

/** Of BTC's returns those that any other coin has as well; null where there are none. */
function usedWindow(
  { returns: { values, ringHours } }: GatheredReturns,
  leader: number,
  { endHour, hours }: ReturnWindow,
  correlated: readonly Correlated[],
): Measured['window'] | null {
  const isKnown = (row: number, hour: number) =>
    !Number.isNaN(values[row * ringHours + (hour % ringHours)])
  let firstHour = Number.NaN
  let lastHour = Number.NaN
  let candles = 0
  for (let hour = endHour - hours + 1; hour <= endHour; hour += 1) {
    if (!isKnown(leader, hour) || !correlated.some(({ row }) => isKnown(row, hour))) continue
    // A return lies between two candles, of which it may share the first with the one before.
    candles += lastHour === hour - 1 ? 1 : 2
    if (Number.isNaN(firstHour)) firstHour = hour - 1
    lastHour = hour
  }
  return candles === 0 ? null : { hours: lastHour - firstHour, candles, firstHour, lastHour }
}

/** null where no coin has enough hours in common with BTC. */
function averageCorrelation(
  { coins, returns }: GatheredReturns,
  leader: number,
  window: ReturnWindow,
  commonMin: number,
): Average | null {
  const correlations: number[] = []
  for (let row = 0; row < coins.length; row += 1) {
    if (row === leader) continue
    const { n, r } = pairStatistics(returns, row, leader, window)
    if (n >= commonMin && !Number.isNaN(r)) correlations.push(r)
  }
  if (correlations.length === 0) return null
  return { average: mean(correlations), coins: correlations.length }
}

/** Rows: BTC, then the others by open interest. */
function matrixCoins(
  { openInterestUsd }: GatheredReturns,
  leader: number,
  correlated: readonly Correlated[],
): readonly number[] {
  const interest = ({ row }: Correlated) => {
    const usd = openInterestUsd[row] as number
    return Number.isNaN(usd) ? 0 : usd
  }
  const largest = correlated.toSorted((one, other) => interest(other) - interest(one))
  return [leader, ...largest.slice(0, MATRIX_COINS).map(({ row }) => row)]
}

function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0) / numbers.length
}
