import { dexKindOf } from '../../funding/premium.ts'
import {
  COMMON_RETURNS_MIN,
  DAY_AGO_HOURS,
  RETURNS_READ,
  SHORT_WINDOW_HOURS,
  WEEK_AGO_HOURS,
  WINDOW_HOURS,
} from './correlation-window.ts'
import type { GatheredCloses } from './gathered-closes.ts'
import type { PairInterval } from './pair-interval.ts'
import { pairInterval } from './pair-interval.ts'
import type { PairStatistics } from './pair-statistics.ts'
import { commonReturns, pairStatistics } from './pair-statistics.ts'
import type { ReturnTable, ReturnWindow } from './return-table.ts'
import { returnsIn, returnTable } from './return-table.ts'

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
  /** Mean over the {@link altcoins}, as all averages. */
  readonly average: number
  readonly altcoins: number
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
}

/** No moving coin of the main dex has enough hours in common with BTC. */
type Lacking = { readonly kind: 'lacking'; readonly coinsKnown: number }

export function measure(gathered: GatheredCloses): Measured | Lacking {
  const { coins, closes, endHour } = gathered
  const leader = coins.indexOf(LEADER)
  if (leader === -1 || Number.isNaN(endHour)) return { kind: 'lacking', coinsKnown: 0 }
  const returns = returnTable(closes, RETURNS_READ, endHour)
  const window = { endHour, hours: WINDOW_HOURS }
  const known = coins
    .map((coin, row) => ({ coin, row, ...statisticsOf(returns, row, leader, window) }))
    .filter(({ row, n }) => row !== leader && n >= COMMON_RETURNS_MIN)
  const moving = known.filter(({ r }) => !Number.isNaN(r))
  const used = usedWindow(returns, leader, window, moving)
  const altcoins = moving.filter(({ coin }) => isAltcoin(coin))
  if (used === null || altcoins.length === 0) return { kind: 'lacking', coinsKnown: known.length }
  const averageOver = (other: ReturnWindow, commonMin: number) =>
    averageCorrelation(returns, coins, other, commonMin)
  const matrix = matrixRows(gathered, leader, moving)
  return {
    kind: 'measured',
    correlated: moving.map(({ coin, row, n, r, beta }): Correlated => {
      const common = commonReturns(
        returnsIn(returns, row, window),
        returnsIn(returns, leader, window),
      )
      return { coin, row, n, r, beta, interval: pairInterval(common.xs, common.ys, r) }
    }),
    average: mean(altcoins.map(({ r }) => r)),
    altcoins: altcoins.length,
    window: used,
    matrix: {
      coins: matrix.map((row) => coins[row] as string),
      values: matrix.map((a) => matrix.map((b) => matrixValue(returns, a, b, window))),
    },
    dayAgo: averageOver({ ...window, endHour: endHour - DAY_AGO_HOURS }, COMMON_RETURNS_MIN),
    weekAgo: averageOver({ ...window, endHour: endHour - WEEK_AGO_HOURS }, COMMON_RETURNS_MIN),
    short: averageOver({ endHour, hours: SHORT_WINDOW_HOURS }, SHORT_RETURNS_MIN),
    coinsKnown: known.length,
  }
}

function statisticsOf(
  returns: ReturnTable,
  a: number,
  b: number,
  window: ReturnWindow,
): PairStatistics {
  return pairStatistics(returnsIn(returns, a, window), returnsIn(returns, b, window))
}

/** NaN below {@link COMMON_RETURNS_MIN} common hours. */
function matrixValue(returns: ReturnTable, a: number, b: number, window: ReturnWindow): number {
  if (a === b) return 1
  const { n, r } = statisticsOf(returns, a, b, window)
  return n < COMMON_RETURNS_MIN ? Number.NaN : r
}

/** BTC's returns that at least one other coin has as well; null without any. */
function usedWindow(
  returns: ReturnTable,
  leader: number,
  window: ReturnWindow,
  others: readonly { readonly row: number }[],
): Measured['window'] | null {
  const ofLeader = returnsIn(returns, leader, window)
  const ofOthers = others.map(({ row }) => returnsIn(returns, row, window))
  let firstHour = Number.NaN
  let lastHour = Number.NaN
  let candles = 0
  for (const [at, logReturn] of ofLeader.entries()) {
    if (Number.isNaN(logReturn) || ofOthers.every((each) => Number.isNaN(each[at]))) continue
    const hour = window.endHour - window.hours + 1 + at
    // A return has two candles; it shares the first with the return before.
    candles += lastHour === hour - 1 ? 1 : 2
    if (Number.isNaN(firstHour)) firstHour = hour - 1
    lastHour = hour
  }
  return candles === 0 ? null : { hours: lastHour - firstHour, candles, firstHour, lastHour }
}

/** Builder dexes list stocks, commodities and currencies, which are in no average. */
function isAltcoin(coin: string): boolean {
  return coin !== LEADER && dexKindOf(coin) === 'main'
}

/** null if no coin has enough hours in common with BTC. */
function averageCorrelation(
  returns: ReturnTable,
  coins: readonly string[],
  window: ReturnWindow,
  commonMin: number,
): Average | null {
  const leader = coins.indexOf(LEADER)
  const correlations: number[] = []
  for (const [row, coin] of coins.entries()) {
    if (!isAltcoin(coin)) continue
    const { n, r } = statisticsOf(returns, row, leader, window)
    if (n >= commonMin && !Number.isNaN(r)) correlations.push(r)
  }
  if (correlations.length === 0) return null
  return { average: mean(correlations), coins: correlations.length }
}

/** Rows of the matrix: BTC, then the others by open interest. */
function matrixRows(
  { openInterestUsd }: GatheredCloses,
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
