import {
  COMMON_RETURNS_MIN,
  DAY_AGO_HOURS,
  SHORT_WINDOW_HOURS,
  WEEK_AGO_HOURS,
  WINDOW_HOURS,
} from './correlation-window.ts'
import type { GatheredReturns } from './gathered-returns.ts'
import type { PairInterval } from './pair-interval.ts'
import { pairInterval } from './pair-interval.ts'
import { commonReturns, pairStatistics } from './pair-statistics.ts'
import type { ReturnWindow } from './return-table.ts'
import { AGREEMENT } from './rolling-correlation.ts'

/** The coin that all others are correlated with. */
const LEADER = 'BTC'

/** Common hours needed in the short window. */
const SHORT_RETURNS_MIN = SHORT_WINDOW_HOURS / 2

/** Coins in the matrix besides BTC. */
const MATRIX_COINS = 15

/** A coin and its correlation with BTC. */
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

/** All figures of an answer, unrounded. */
export type Measured = {
  readonly kind: 'measured'
  /** Coins that move and have enough hours in common with BTC, in the venue's order. Never empty. */
  readonly correlated: readonly Correlated[]
  readonly average: number
  /** Candles behind the returns with BTC, and the hours from the first to the last close. */
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
  /** Coins with enough hours in common with BTC, including those that do not move. */
  readonly coinsKnown: number
  readonly check: Check
}

/** Rolling sums compared with the computation from the returns. */
type Check = {
  /** Pairs of the answer that the sums have, and those that differ by more than 1e-9. */
  readonly pairs: number
  readonly disagreeing: number
}

/** No moving coin has enough hours in common with BTC. */
type Lacking = { readonly kind: 'lacking'; readonly coinsKnown: number }

export function measure(gathered: GatheredReturns): Measured | Lacking {
  const { coins, returns, endHour } = gathered
  const leader = coins.indexOf(LEADER)
  const window = { endHour, hours: WINDOW_HOURS }
  if (leader === -1 || Number.isNaN(endHour)) return { kind: 'lacking', coinsKnown: 0 }
  const known = coins
    .map((coin, row) => ({ coin, row, ...pairStatistics(returns, row, leader, window) }))
    .filter(({ row, n }) => row !== leader && n >= COMMON_RETURNS_MIN)
  const moving = known.filter(({ r }) => !Number.isNaN(r))
  const used = usedWindow(gathered, leader, window, moving)
  if (used === null) return { kind: 'lacking', coinsKnown: known.length }
  const averageOver = (other: ReturnWindow, commonMin: number) =>
    averageCorrelation(gathered, leader, other, commonMin)
  const matrix = matrixRows(gathered, leader, moving)
  const pairs = [
    ...moving.map(({ row, r }): Pair => ({ a: row, b: leader, r })),
    ...pairsAmong(gathered, matrix.slice(1), window),
  ]
  const { correlationOf, check } = checkedCorrelations(gathered, pairs)
  const correlated = moving.map(({ coin, row, n, beta }): Correlated => {
    const { xs, ys } = commonReturns(returns, row, leader, window)
    const r = correlationOf(row, leader)
    return { coin, row, n, r, beta, interval: pairInterval(xs, ys, r) }
  })
  return {
    kind: 'measured',
    correlated,
    average: mean(correlated.map(({ r }) => r)),
    window: used,
    matrix: {
      coins: matrix.map((row) => coins[row] as string),
      values: matrix.map((a) => matrix.map((b) => (a === b ? 1 : correlationOf(a, b)))),
    },
    dayAgo: averageOver({ ...window, endHour: endHour - DAY_AGO_HOURS }, COMMON_RETURNS_MIN),
    weekAgo: averageOver({ ...window, endHour: endHour - WEEK_AGO_HOURS }, COMMON_RETURNS_MIN),
    short: averageOver({ endHour, hours: SHORT_WINDOW_HOURS }, SHORT_RETURNS_MIN),
    coinsKnown: known.length,
    check,
  }
}

/** Two rows and their correlation by the returns; NaN below {@link COMMON_RETURNS_MIN} common hours. */
type Pair = { readonly a: number; readonly b: number; readonly r: number }

function pairsAmong({ returns }: GatheredReturns, rows: readonly number[], window: ReturnWindow) {
  return rows.flatMap((a, at) =>
    rows.slice(at + 1).map((b): Pair => {
      const { n, r } = pairStatistics(returns, a, b, window)
      return { a, b, r: n < COMMON_RETURNS_MIN ? Number.NaN : r }
    }),
  )
}

/**
 * Compares every pair of the answer with the rolling sums. The sums are served while all of them agree; pairs that
 * they do not have, and all pairs after a disagreement, come from the returns.
 */
function checkedCorrelations({ rolled, rolledWidth }: GatheredReturns, pairs: readonly Pair[]) {
  const keyOf = (a: number, b: number) => Math.min(a, b) * rolledWidth + Math.max(a, b)
  const summed = pairs.filter(({ a, b }) => !Number.isNaN(rolled[keyOf(a, b)]))
  // Written so that a pair without a correlation from the returns disagrees as well.
  const disagreeing = summed.filter(
    ({ a, b, r }) => !(Math.abs((rolled[keyOf(a, b)] as number) - r) <= AGREEMENT),
  ).length
  const served = new Map(pairs.map(({ a, b, r }) => [keyOf(a, b), r]))
  if (disagreeing === 0)
    for (const { a, b } of summed) served.set(keyOf(a, b), rolled[keyOf(a, b)] as number)
  return {
    correlationOf: (a: number, b: number) => served.get(keyOf(a, b)) ?? Number.NaN,
    check: { pairs: summed.length, disagreeing },
  }
}

/** BTC's returns that at least one other coin has as well; null without any. */
function usedWindow(
  { returns: { values, ringHours } }: GatheredReturns,
  leader: number,
  { endHour, hours }: ReturnWindow,
  others: readonly { readonly row: number }[],
): Measured['window'] | null {
  const isKnown = (row: number, hour: number) =>
    !Number.isNaN(values[row * ringHours + (hour % ringHours)])
  let firstHour = Number.NaN
  let lastHour = Number.NaN
  let candles = 0
  for (let hour = endHour - hours + 1; hour <= endHour; hour += 1) {
    if (!isKnown(leader, hour) || !others.some(({ row }) => isKnown(row, hour))) continue
    // A return has two candles; it shares the first with the return before.
    candles += lastHour === hour - 1 ? 1 : 2
    if (Number.isNaN(firstHour)) firstHour = hour - 1
    lastHour = hour
  }
  return candles === 0 ? null : { hours: lastHour - firstHour, candles, firstHour, lastHour }
}

/** null if no coin has enough hours in common with BTC. */
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

/** Rows of the matrix: BTC, then the others by open interest. */
function matrixRows(
  { openInterestUsd }: GatheredReturns,
  leader: number,
  others: readonly { readonly row: number }[],
): readonly number[] {
  const interest = ({ row }: { readonly row: number }) => {
    const usd = openInterestUsd[row] as number
    return Number.isNaN(usd) ? 0 : usd
  }
  const largest = others.toSorted((one, other) => interest(other) - interest(one))
  return [leader, ...largest.slice(0, MATRIX_COINS).map(({ row }) => row)]
}

function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0) / numbers.length
}
