import type { HourlyCloses } from '../../volatility/hourly-closes.ts'

const DAY_HOURS = 24
const WEEK_HOURS = 7 * DAY_HOURS
const RANKED_HOURS = 30 * DAY_HOURS
/** Closes for the rolling days of the last 30 days, each of 24 returns. */
const CLOSES = RANKED_HOURS + DAY_HOURS
/** Rolling days needed for a percentile: a week of hours. */
const RANKED_HOURS_MIN = WEEK_HOURS
/** After three lengths an exponential average keeps 0.25 % of older closes. */
const AVERAGE_LENGTHS = 3

/** Measures of the closed hours of one coin. NaN: unknown. */
export type HourlySentiment = {
  /** Exponential averages over a day and a week, USD. */
  readonly dayAverage: number
  readonly weekAverage: number
  readonly weekAgoPrice: number
  /** Percentile of the last day's realised volatility among the rolling days of 30 days, 0 to 100. */
  readonly volatilityPercentile: number
  /** Share of falling hours in the last day's variance, 0 to 1. */
  readonly downsideShare: number
}

type Cached = {
  readonly revision: number
  readonly lastHour: number
  readonly sentiment: HourlySentiment
}

/** Caches the measures of a coin until an hour closes or changes. */
export class SentimentHours {
  readonly #held = new WeakMap<HourlyCloses, Cached>()

  /** @param lastHour the last complete hour since the Unix epoch, by the venue's clock */
  of(closes: HourlyCloses, lastHour: number): HourlySentiment {
    const { revision } = closes
    const held = this.#held.get(closes)
    if (held?.revision === revision && held.lastHour === lastHour) return held.sentiment
    const sentiment = hourlySentiment(knownCloses(closes, lastHour))
    this.#held.set(closes, { revision, lastHour, sentiment })
    return sentiment
  }
}

/** @param closes of consecutive hours, oldest first, without NaN */
export function hourlySentiment(closes: Float64Array): HourlySentiment {
  return {
    dayAverage: averageOf(closes, DAY_HOURS),
    weekAverage: averageOf(closes, WEEK_HOURS),
    weekAgoPrice: closes.at(-1 - WEEK_HOURS) ?? Number.NaN,
    ...lastDay(closes),
  }
}

/**
 * Closes from the first known one. An hour without a close had no trade and repeats the close before it. Empty if the
 * last day has no close.
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

/** Exponential average: weights decay by 1 - 2 / (length + 1) per hour and are normalised. */
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
    // Without movement neither side dominates.
    downsideShare: total === 0 ? 0.5 : Math.min(1, downside / total),
  }
}

function squaredReturns(closes: Float64Array): Float64Array {
  const squares = new Float64Array(Math.max(0, closes.length - 1))
  for (let at = 0; at < squares.length; at += 1)
    squares[at] = Math.log((closes[at + 1] as number) / (closes[at] as number)) ** 2
  return squares
}

/** Percentile of the last day by sum of squares, equal days counted half. */
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
