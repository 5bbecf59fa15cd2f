import type { HourlyCloses } from '../../volatility/hourly-closes.ts'

const DAY_HOURS = 24
const WEEK_HOURS = 7 * DAY_HOURS
const RANKED_HOURS = 30 * DAY_HOURS
/** Rolling days of the last month, each of 24 returns between 25 closes. */
const CLOSES = RANKED_HOURS + DAY_HOURS
/** A week of them: below it a rank says more about the week than about the coin. */
const RANKED_HOURS_MIN = WEEK_HOURS
/** Beyond three lengths an average has forgotten all but a quarter of a percent. */
const AVERAGE_LENGTHS = 3

/** What the closed hours of one coin say. NaN: unknown. */
export type HourlySentiment = {
  /** Exponential averages over a day and a week, USD. */
  readonly dayAverage: number
  readonly weekAverage: number
  readonly weekAgoPrice: number
  /** Rank of the last day's realised volatility among the rolling days of a month, 0 to 100. */
  readonly volatilityPercentile: number
  /** Share of falling hours in the last day's variance, 0 to 1. */
  readonly downsideShare: number
}

type Held = {
  readonly revision: number
  readonly lastHour: number
  readonly sentiment: HourlySentiment
}

/** Measures the hours of a coin anew when one has closed or changed: once an hour, not every time. */
export class SentimentHours {
  readonly #held = new WeakMap<HourlyCloses, Held>()

  /** @param lastHour that is over, counted from the Unix epoch by the venue's clock */
  of(closes: HourlyCloses, lastHour: number): HourlySentiment {
    const { revision } = closes
    const held = this.#held.get(closes)
    if (held?.revision === revision && held.lastHour === lastHour) return held.sentiment
    const sentiment = hourlySentiment(knownCloses(closes, lastHour))
    this.#held.set(closes, { revision, lastHour, sentiment })
    return sentiment
  }
}

/** @param closes of consecutive hours, oldest first, the last hour at the end; none of them NaN */
export function hourlySentiment(closes: Float64Array): HourlySentiment {
  return {
    dayAverage: averageOf(closes, DAY_HOURS),
    weekAverage: averageOf(closes, WEEK_HOURS),
    weekAgoPrice: closes.at(-1 - WEEK_HOURS) ?? Number.NaN,
    ...lastDay(closes),
  }
}

/**
 * From the first close that is known on. An hour without one had no trade, and keeps the close before it; but
 * where nothing is known of the last day, nothing is known.
 */
function knownCloses(closes: HourlyCloses, lastHour: number): Float64Array {
  if (!(lastHour - closes.newestHour < DAY_HOURS)) return new Float64Array(0)
  const known = new Float64Array(CLOSES)
  let [count, last] = [0, Number.NaN]
  for (let hour = lastHour - CLOSES + 1; hour <= lastHour; hour += 1) {
    const close = closes.close(hour)
    if (!Number.isNaN(close)) last = close
    if (Number.isNaN(last)) continue
    known[count] = last
    count += 1
  }
  return known.subarray(0, count)
}

/** Weights that fall by 1 - 2 / (length + 1) an hour, and sum to 1 however few hours are known. */
function averageOf(closes: Float64Array, length: number): number {
  if (closes.length < length) return Number.NaN
  const decay = 1 - 2 / (length + 1)
  let [sum, weights] = [0, 0]
  for (const close of closes.subarray(-AVERAGE_LENGTHS * length)) {
    sum = sum * decay + close
    weights = weights * decay + 1
  }
  return sum / weights
}

function lastDay(closes: Float64Array) {
  const squares = squaredReturns(closes)
  const days = squares.length - DAY_HOURS + 1
  const [total, downside] = [sumOf(squares.subarray(-DAY_HOURS)), downsideOf(closes)]
  if (days < 1) return { volatilityPercentile: Number.NaN, downsideShare: Number.NaN }
  return {
    volatilityPercentile: days < RANKED_HOURS_MIN ? Number.NaN : rankOfLast(squares, days),
    // Nothing moved: neither side did.
    downsideShare: total === 0 ? 0.5 : Math.min(1, downside / total),
  }
}

function squaredReturns(closes: Float64Array): Float64Array {
  const squares = new Float64Array(Math.max(0, closes.length - 1))
  for (let at = 0; at < squares.length; at += 1)
    squares[at] = Math.log((closes[at + 1] as number) / (closes[at] as number)) ** 2
  return squares
}

/** 100 x (days below the last + half of those equal) / days, by their sums of squares. */
function rankOfLast(squares: Float64Array, days: number): number {
  const last = sumOf(squares.subarray(-DAY_HOURS))
  let [below, equal] = [0, 0]
  for (let day = 0; day < days; day += 1) {
    const sum = sumOf(squares.subarray(day, day + DAY_HOURS))
    if (sum < last) below += 1
    else if (sum === last) equal += 1
  }
  return (100 * (below + equal / 2)) / days
}

function downsideOf(closes: Float64Array): number {
  const day = closes.subarray(-1 - DAY_HOURS)
  let sum = 0
  for (let at = 1; at < day.length; at += 1) {
    const change = Math.log((day[at] as number) / (day[at - 1] as number))
    if (change < 0) sum += change ** 2
  }
  return sum
}

function sumOf(values: Float64Array): number {
  let sum = 0
  for (const value of values) sum += value
  return sum
}
