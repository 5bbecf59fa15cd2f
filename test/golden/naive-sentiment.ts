import type { Bar } from '../../src/domain/bar.ts'
import type { ContextEvent, MarketEvent, TradeEvent } from '../../src/domain/event.ts'
import type { FundingRow, MarketSample } from '../../src/domain/history.ts'
import { naiveUsdPerUnit } from './naive-unit.ts'

/**
 * Reference of `/sentiment`, by direct search in all events of the coins, defined in docs/numbers/sentiment.md. It
 * shares only the event types with the product. It has no history of the premium.
 */

const HOUR_MS = 3_600_000
const FIVE_MINUTES_MS = 300_000

/** Events of one coin. */
export type NaiveCoin = {
  readonly coin: string
  readonly context: ContextEvent
  /** USD per unit of the quote currency. */
  readonly unit: number
  readonly quarters: readonly Bar[]
  readonly fundings: readonly FundingRow[]
  readonly samples: readonly MarketSample[]
  readonly trades: readonly TradeEvent[]
}

export type NaiveIndex = { readonly value: number; readonly ageHours: number } | null

export type NaiveSentiment = {
  /** 0 to 100; NaN if the sources cover less than half of the weight. */
  readonly score: number
  readonly deviation: number
  readonly liveShare: number
  /** 0 to 100 by source; unavailable sources are absent. */
  readonly scores: Readonly<Record<string, number>>
}

export function naiveCoins(events: readonly MarketEvent[]): NaiveCoin[] {
  const names = [
    ...new Set(events.flatMap((event) => (event.kind === 'context' ? [event.coin] : []))),
  ]
  return names.map((coin) => {
    const own = events.filter((event) => 'coin' in event && event.coin === coin)
    const context = own.findLast((event) => event.kind === 'context')
    if (context?.kind !== 'context') throw new Error('a coin has figures')
    return {
      coin,
      context,
      unit: naiveUsdPerUnit(events, coin),
      quarters: own.flatMap((one) =>
        one.kind === 'history' && one.timeframe === '15m' ? [...one.bars] : [],
      ),
      fundings: own.flatMap((one) => (one.kind === 'funding-history' ? [...one.rows] : [])),
      samples: own.flatMap((one) => (one.kind === 'sample-history' ? [...one.samples] : [])),
      trades: own.flatMap((one) => (one.kind === 'trade' ? [one] : [])),
    }
  })
}

export function naiveSentiment(
  coins: readonly NaiveCoin[],
  index: NaiveIndex | undefined,
): NaiveSentiment {
  const scores: Record<string, number> = {}
  const weights: Record<string, number> = {}
  const keep = (name: string, weight: number, value: number, known: number) => {
    if (Number.isNaN(value) || known === 0 || known * 2 < coins.length) return
    scores[name] = value
    weights[name] = weight
  }
  const oi = coins.map(({ context, unit }) => context.openInterestBase * context.markPrice * unit)
  const average = (values: readonly number[], by: readonly number[]) => {
    let [sum, total] = [0, 0]
    for (let at = 0; at < values.length; at += 1) {
      if (Number.isNaN(values[at])) continue
      sum += (values[at] as number) * (by[at] as number)
      total += by[at] as number
    }
    return sum / total
  }
  const plain = coins.map(() => 1)
  const count = (values: readonly number[]) => values.filter((one) => !Number.isNaN(one)).length

  const rates = coins.map(rate8h)
  const apr = average(rates, oi) * 24 * 365 * 100
  const ranks = coins.map((coin, at) => fundingRank(coin, rates[at] as number))
  const paying = rates.map((one) => (one > 0 ? 1 : one < 0 ? 0 : 0.5))
  keep(
    'funding',
    0.2,
    blend([
      [clamp(((apr + 20) / 80) * 100), 2],
      [average(ranks, oi), 1],
      [100 * average(paying, plain), 1],
    ]),
    coins.length,
  )

  const premiums = coins.map(({ context }) => {
    const bps = (context.markPrice / context.oraclePrice - 1) * 10_000
    return Math.min(50, Math.max(-50, bps))
  })
  keep('premium', 0.15, clamp(((average(premiums, oi) + 10) / 20) * 100), coins.length)

  const day = coins.map((coin) => above(coin, 24))
  const week = coins.map((coin) => above(coin, 168))
  const rose = coins.map(({ context }) =>
    half(context.markPrice, context.prevDayPrice ?? Number.NaN),
  )
  const volume = coins.map(({ context, unit }) => context.dayNotional * unit)
  keep(
    'breadth',
    0.2,
    blend([
      [100 * average(day, plain), 1],
      [100 * average(week, plain), 1],
      [100 * average(rose, volume), 1],
    ]),
    count(day),
  )

  const flows = coins.map(quadrant)
  keep('oi_flow', 0.15, 50 * (1 + average(flows, oi)), count(flows))

  const volatility = coins.map(volatilityRank)
  const down = coins.map(downside)
  keep(
    'volatility',
    0.1,
    0.7 * (100 - average(volatility, oi)) + 30 * (1 - average(down, oi)),
    count(volatility),
  )

  // Trades arrive with the candles.
  const received = coins.filter(({ quarters }) => quarters.length > 0)
  const bought = takers(received, 'buy')
  const share = bought.usd / (bought.usd + takers(received, 'sell').usd)
  const traded = received.map((coin) => (stepsOf(coin) < 12 ? 0 : 1))
  const tradedShare = average(
    traded,
    received.map(({ context, unit }) => context.dayNotional * unit),
  )
  keep(
    'taker_flow',
    0.1,
    tradedShare < 0.5 ? Number.NaN : clamp(((share - 0.42) / 0.16) * 100),
    received.length,
  )

  if (index) {
    const left = index.ageHours <= 24 ? 1 : index.ageHours >= 36 ? 0 : (36 - index.ageHours) / 12
    if (left > 0) keep('fear_greed_index', 0.1 * left, index.value, coins.length)
  }

  const total = Object.values(weights).reduce((sum, one) => sum + one, 0)
  const liveShare = total / (index === undefined ? 0.9 : 1)
  if (liveShare < 0.5 - 1e-9) return { score: Number.NaN, deviation: Number.NaN, liveShare, scores }
  let score = 0
  for (const name in scores) score += ((scores[name] as number) * (weights[name] as number)) / total
  let variance = 0
  for (const name in scores)
    variance += (((scores[name] as number) - score) ** 2 * (weights[name] as number)) / total
  return { score, deviation: Math.sqrt(variance), liveShare, scores }
}

function clamp(value: number): number {
  return Math.min(100, Math.max(0, value))
}

function half(one: number, other: number): number {
  return one > other ? 1 : one < other ? 0 : 0.5
}

/** The mean of the available parts. */
function blend(parts: readonly (readonly [number, number])[]): number {
  const known = parts.filter(([value]) => !Number.isNaN(value))
  let [sum, total] = [0, 0]
  for (const [value, weight] of known) {
    sum += value * weight
    total += weight
  }
  return sum / total
}

function rank(values: readonly number[], value: number): number {
  let points = 0
  for (const one of values) points += one < value ? 1 : one === value ? 0.5 : 0
  return (100 * points) / values.length
}

function rate8h({ context, fundings }: NaiveCoin): number {
  const hour = Math.floor(context.timeExchangeMs / HOUR_MS)
  const last = fundings.filter(({ timeMs }) => {
    const ago = hour - timeMs / HOUR_MS
    return ago >= 0 && ago < 8
  })
  if (last.length === 0) return context.fundingRateHourly
  return Number(
    (last.reduce((sum, { rateHourly }) => sum + rateHourly, 0) / last.length).toFixed(12),
  )
}

function fundingRank({ fundings }: NaiveCoin, rate: number): number {
  if (fundings.length < 168) return Number.NaN
  return rank(
    fundings.map(({ rateHourly }) => rateHourly),
    rate,
  )
}

/** Closes of the completed hours, oldest first. */
function hours({ context, quarters }: NaiveCoin): number[] {
  const now = Math.floor(context.timeExchangeMs / HOUR_MS)
  const closes: number[] = []
  const first = Math.floor((quarters[0]?.openTimeMs ?? 0) / HOUR_MS)
  for (let hour = Math.max(first, now - 744); hour < now; hour += 1) {
    const own = quarters.filter(({ openTimeMs }) => Math.floor(openTimeMs / HOUR_MS) === hour)
    const close = own.at(-1)?.close ?? closes.at(-1)
    if (close !== undefined) closes.push(close)
  }
  return quarters.length === 0 ? [] : closes
}

function above(coin: NaiveCoin, length: number): number {
  const closes = hours(coin)
  if (closes.length < length) return Number.NaN
  let [sum, weights] = [0, 0]
  for (const [age, close] of closes
    .toReversed()
    .slice(0, 3 * length)
    .entries()) {
    const weight = (1 - 2 / (length + 1)) ** age
    sum += weight * close
    weights += weight
  }
  return half(coin.context.markPrice, sum / weights)
}

function returns(coin: NaiveCoin): number[] {
  const closes = hours(coin)
  return closes.slice(1).map((close, at) => Math.log(close / (closes[at] as number)))
}

function volatilityRank(coin: NaiveCoin): number {
  const moves = returns(coin)
  const days: number[] = []
  for (let end = 24; end <= moves.length; end += 1)
    days.push(moves.slice(end - 24, end).reduce((sum, move) => sum + move ** 2, 0))
  return days.length < 168 ? Number.NaN : rank(days, days.at(-1) as number)
}

function downside(coin: NaiveCoin): number {
  const day = returns(coin).slice(-24)
  if (day.length < 24) return Number.NaN
  const squares = (moves: readonly number[]) => moves.reduce((sum, move) => sum + move ** 2, 0)
  const all = squares(day)
  return all === 0 ? 0.5 : squares(day.filter((move) => move < 0)) / all
}

/** Compared with the reading nearest to four hours ago, within 24 minutes. */
function quadrant({ context, samples }: NaiveCoin): number {
  const fromMs = context.timeExchangeMs - 4 * HOUR_MS
  const off = (sample: MarketSample) => Math.abs(sample.timeMs - fromMs)
  const near = samples.filter((one) => off(one) <= 24 * 60_000)
  const before = near.toSorted((one, other) => off(one) - off(other))[0]
  if (before === undefined || before.openInterestBase <= 0) return Number.NaN
  const price = Math.sign(context.markPrice - before.markPrice)
  const interest = Math.sign(context.openInterestBase - before.openInterestBase)
  if (price === 0) return 0
  if (price > 0) return interest > 0 ? 1 : interest < 0 ? 0.5 : 0.75
  return interest > 0 ? -1 : interest < 0 ? -0.5 : -0.75
}

function inWindow({ context, trades }: NaiveCoin): readonly TradeEvent[] {
  const last = Math.floor(context.timeExchangeMs / FIVE_MINUTES_MS)
  return trades.filter(({ timeExchangeMs }) => {
    const step = Math.floor(timeExchangeMs / FIVE_MINUTES_MS)
    return step > last - 48 && step <= last
  })
}

function stepsOf(coin: NaiveCoin): number {
  return new Set(inWindow(coin).map((one) => Math.floor(one.timeExchangeMs / FIVE_MINUTES_MS))).size
}

function takers(coins: readonly NaiveCoin[], side: 'buy' | 'sell') {
  const trades = coins.flatMap((coin) =>
    inWindow(coin)
      .filter(({ takerSide }) => takerSide === side)
      .map(({ price, sizeBase }) => price * sizeBase * coin.unit),
  )
  return { usd: trades.reduce((sum, usd) => sum + usd, 0) }
}
