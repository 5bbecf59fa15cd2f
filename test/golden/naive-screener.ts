import type { Bar } from '../../src/domain/bar.ts'
import type { MarketEvent } from '../../src/domain/event.ts'
import { naiveFunding } from './naive-funding.ts'
import { naiveOpenInterest } from './naive-open-interest.ts'
import type { NaivePulse } from './naive-pulse.ts'
import { naivePulse } from './naive-pulse.ts'
import { naiveStatistics, naiveSteps } from './naive-statistics.ts'
import { naiveUsdPerUnit } from './naive-unit.ts'
import { naiveHours, naiveVolatilityPercentile } from './naive-volatility.ts'

type Direction = -1 | 0 | 1
type NaiveRow = ReturnType<typeof naiveRow>

/**
 * Reference of `/screener` for coins with complete data, without rounding, computed from the raw event log by
 * direct search. Defined in `docs/numbers/screener.md`. The log has one 15m and one 4h history for each coin,
 * up to a whole hour, and no candle after it.
 */
export function naiveScreener(log: readonly MarketEvent[]) {
  const universe = log.findLast((event) => event.kind === 'universe')
  if (universe?.kind !== 'universe') throw new Error('the log has a list of coins')
  const trading = universe.listings.filter(({ isDelisted }) => !isDelisted)
  const rows = trading.map(({ coin }) => naiveRow(log, coin))
  const count = (bias: string) =>
    rows.filter(({ confluence_bias }) => confluence_bias === bias).length
  const median = (of: (row: NaiveRow) => number) => naiveStatistics(rows.map(of)).median
  return {
    market: {
      breadth_pct: naiveSteps(
        (100 * rows.filter(({ isAbove }) => isAbove).length) / rows.length,
        rows.length,
        100,
      ),
      bullish_count: count('bullish'),
      bearish_count: count('bearish'),
      neutral_count: count('neutral'),
      median_funding_annualized_pct: median(({ funding_annualized_pct }) => funding_annualized_pct),
      vol_regime: volRegime(median(({ percentile }) => percentile)),
    },
    rows: new Map(rows.map((row) => [row.coin, row])),
    top: {
      bullish: strongest(rows, 'bullish'),
      bearish: strongest(rows, 'bearish'),
      crowded_long: crowded(rows, -1),
      crowded_short: crowded(rows, 1),
    },
  }
}

function naiveRow(log: readonly MarketEvent[], coin: string) {
  const [quarters, fours] = [barsOf(log, coin, '15m'), barsOf(log, coin, '4h')]
  const forming = flatAfter(quarters)
  const hours = naiveHours(quarters)
  const hour = last(naivePulse([...hours, forming]))
  const four = last(naivePulse([...fours, forming]))
  const close = forming.close
  const context = log.findLast((event) => event.kind === 'context' && event.coin === coin)
  const book = log.findLast((event) => event.kind === 'book' && event.coin === coin)
  if (context?.kind !== 'context' || book?.kind !== 'book') throw new Error(`${coin} is known`)
  const price = ((book.bids[0]?.price ?? Number.NaN) + (book.asks[0]?.price ?? Number.NaN)) / 2
  const funding = naiveFunding(log, coin) as {
    funding: { bias: string; crowding: string; percentile: number | null; annualized_pct: number }
  }
  const { oi } = naiveOpenInterest(log, coin) as {
    oi: { trend: string; positioning: string; notional_usd: number | null }
  }
  const { bias, crowding, percentile: fundingRank } = funding.funding
  const prevDayPrice = context.prevDayPrice ?? Number.NaN
  const fundingVote = contrarian(bias, crowding)
  const hourVotes = candleVotes(hour, close)
  const net = netOf([
    ...hourVotes,
    ...(fundingVote === null ? [] : [[0.75, fundingVote] as const]),
    ...(oi.positioning === 'UNKNOWN' ? [] : [[1, buildup(oi.positioning)] as const]),
  ])
  const [hourBias, fourBias] = [biasOf(netOf(hourVotes)), biasOf(netOf(candleVotes(four, close)))]
  const percentile = naiveVolatilityPercentile(hours, (100 * hour.atr14) / close)
  if (percentile === null) throw new Error(`a week of ${coin} is known`)
  const isStill = hour.deviation === 0
  const stretch = Number.isNaN(hour.zscore100) ? 0 : Math.abs(hour.zscore100)
  return {
    coin,
    price,
    change_24h_pct: (100 * (price - prevDayPrice)) / prevDayPrice,
    signal_strength:
      0.6 * Math.abs(net) +
      (isStill ? 0 : 0.15 * Math.min(1, Math.abs(hour.rsi14 - 50) / 50)) +
      0.15 * Math.min(1, stretch / 3) +
      (hourBias === fourBias && hourBias !== 'neutral' ? 0.1 : 0),
    confluence_bias: biasOf(net),
    confluence_score: Math.abs(net),
    rsi_14: hour.rsi14,
    rsi_zone: isStill ? 'neutral' : rsiZone(hour.rsi14),
    trend: ['bearish', 'neutral', 'bullish'][trendOf(four, close) + 1],
    vol_regime: volRegime(percentile),
    funding_bias: bias,
    funding_annualized_pct: funding.funding.annualized_pct,
    oi_trend: oi.trend,
    oi_notional_usd: oi.notional_usd,
    volume_24h_usd: context.dayNotional * naiveUsdPerUnit(log, coin),
    // Not a member of a row.
    percentile,
    fundingRank,
    fundingVote,
    isAbove: close > four.ema50 * (1 + 1e-12),
  }
}

/** Weight and vote of rsi, trend, bollinger, zscore and, with volume, vwap; all 0 for equal closes. */
function candleVotes(of: NaivePulse, close: number): (readonly [number, Direction])[] {
  const width = 4 * of.deviation
  const position = (close - (of.middle - width / 2)) / width
  const votes: (readonly [number, Direction])[] = [
    [1, of.rsi14 >= 60 && of.rsi14 < 70 ? 1 : of.rsi14 > 30 && of.rsi14 <= 40 ? -1 : 0],
    [1.5, trendOf(of, close)],
    [0.75, position < 0.2 ? 1 : position > 0.8 ? -1 : 0],
    [0.75, of.zscore100 <= -1.5 ? 1 : of.zscore100 >= 1.5 ? -1 : 0],
  ]
  if (!Number.isNaN(of.vwap20)) {
    const away = close - of.vwap20
    votes.push([0.75, Math.abs(away) > of.atr14 / 4 ? (Math.sign(away) as Direction) : 0])
  }
  return of.deviation === 0 ? votes.map(([weight]) => [weight, 0]) : votes
}

function trendOf({ ema20, ema50 }: NaivePulse, close: number): Direction {
  if (ema20 > ema50 && close > ema50) return 1
  return ema20 < ema50 && close < ema50 ? -1 : 0
}

function contrarian(bias: string, crowding: string): Direction | null {
  if (crowding === 'UNKNOWN') return null
  if (bias === 'SHORT_PAYING' && crowding !== 'LOW') return 1
  return bias === 'LONG_PAYING' && ['HIGH', 'EXTREME'].includes(crowding) ? -1 : 0
}

function buildup(positioning: string): Direction {
  if (positioning === 'LONG_BUILDUP') return 1
  return positioning === 'SHORT_BUILDUP' ? -1 : 0
}

function netOf(votes: readonly (readonly [number, Direction])[]): number {
  let [sum, weights] = [0, 0]
  for (const [weight, vote] of votes) {
    sum += weight * vote
    weights += weight
  }
  return sum / weights
}

function biasOf(net: number): string {
  if (net >= 0.25) return 'bullish'
  return net <= -0.25 ? 'bearish' : 'neutral'
}

function rsiZone(rsi: number): string {
  if (rsi >= 70) return 'overbought'
  if (rsi >= 60) return 'bullish'
  if (rsi > 40) return 'neutral'
  return rsi > 30 ? 'bearish' : 'oversold'
}

function volRegime(percentile: number): string {
  if (percentile < 20) return 'LOW'
  if (percentile < 80) return 'NORMAL'
  return percentile < 95 ? 'HIGH' : 'EXTREME'
}

/** Sorted by rounded strength. */
function strongest(rows: readonly NaiveRow[], bias: string): string[] {
  const rank = ({ signal_strength }: NaiveRow) => Math.round(signal_strength * 1_000)
  return rows
    .filter(({ confluence_bias }) => confluence_bias === bias)
    .sort((one, other) => rank(other) - rank(one) || (one.coin < other.coin ? -1 : 1))
    .slice(0, 5)
    .map(({ coin }) => coin)
}

function crowded(rows: readonly NaiveRow[], vote: Direction): string[] {
  return rows
    .filter(({ fundingVote }) => fundingVote === vote)
    .sort(
      (one, other) =>
        Math.abs((other.fundingRank ?? 50) - 50) - Math.abs((one.fundingRank ?? 50) - 50) ||
        Math.abs(other.funding_annualized_pct) - Math.abs(one.funding_annualized_pct),
    )
    .slice(0, 3)
    .map(({ coin }) => coin)
}

function barsOf(
  log: readonly MarketEvent[],
  coin: string,
  timeframe: '15m' | '4h',
): readonly Bar[] {
  const history = log.findLast(
    (event) => event.kind === 'history' && event.coin === coin && event.timeframe === timeframe,
  )
  if (history?.kind !== 'history') throw new Error(`${coin} has a history of ${timeframe}`)
  return history.bars
}

function flatAfter(quarters: readonly Bar[]): Bar {
  const { openTimeMs, close } = last(quarters)
  return {
    openTimeMs: openTimeMs + 900_000,
    open: close,
    high: close,
    low: close,
    close,
    volumeBase: 0,
  }
}

function last<Value>(values: readonly Value[]): Value {
  const found = values.at(-1)
  if (found === undefined) throw new Error('there is a last one')
  return found
}
