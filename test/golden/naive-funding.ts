import type { MarketEvent } from '../../src/domain/event.ts'
import {
  naivePercentile,
  naiveQuantile,
  naiveStatistics,
  naiveSteps,
  naiveZScore,
} from './naive-statistics.ts'

const HOUR_MS = 3_600_000
const LEAD_MS = 10_000
const FRESH_MS = 15_000

type Row = { readonly timeMs: number; rate: number; premium: number | null; settled: boolean }

/**
 * Reference of `/funding/{coin}` without rounding, computed from the raw event log by direct search. Defined in
 * `docs/numbers/funding.md`. null where there is no answer.
 */
export function naiveFunding(
  log: readonly MarketEvent[],
  coin: string,
  lookbackHours = 24,
): object | null {
  const context = log.findLast((event) => event.kind === 'context' && event.coin === coin)
  if (context?.kind !== 'context') return null
  const hourMs = Math.floor(context.timeExchangeMs / HOUR_MS) * HOUR_MS
  const rows = rowsOf(log, coin).filter(({ timeMs }) => timeMs <= hourMs)
  const lastHours = (hours: number) =>
    rows.filter(({ timeMs }) => timeMs > hourMs - hours * HOUR_MS)
  const day = lastHours(24)
  if (day.length === 0) return null
  const asked = lastHours(lookbackHours)
  if (asked.length === 0) return null
  const current = context.fundingRateHourly
  const month = lastHours(720).map(({ rate }) => rate)
  const z = month.length < 168 ? null : naiveZScore(month, current)
  const rank =
    month.length < 168 ? null : naiveSteps(naivePercentile(month, current), month.length, 100)
  const bias = biasOf(coin, current)
  const venues = venuesOf(log, coin, context.timeExchangeMs)
  return {
    coin,
    funding: {
      current_rate: current,
      interval_hours: 1,
      annualized_pct: current * 24 * 365 * 100,
      predicted_rate: current,
      ...premiumOf(context, coin),
      next_funding_iso: new Date(hourMs + HOUR_MS).toISOString(),
      lookback_hours: lookbackHours,
      ...statisticsOf(asked),
      percentile: rank,
      percentile_window_hours:
        (hourMs - Math.min(...lastHours(720).map(({ timeMs }) => timeMs))) / HOUR_MS + 1,
      zscore: z === null ? null : naiveSteps(z, month.length, 1),
      trend: trendOf(day, hourMs),
      bias,
      crowding: crowdingOf(bias, rank),
      ...streakOf(lastHours(720)),
      windows: {
        '7d': { hours: 168, ...statisticsOf(lastHours(168)) },
        '30d': {
          hours: 720,
          ...statisticsOf(lastHours(720)),
          p10_rate: naiveQuantile(month, 0.1),
          p90_rate: naiveQuantile(month, 0.9),
        },
      },
      history: asked.map(({ timeMs, ...row }) => ({
        timestamp_iso: new Date(timeMs).toISOString(),
        ...row,
      })),
    },
    venues: venues.map(({ venue, rate, intervalHours, nextFundingMs, asOfMs }) => ({
      venue,
      rate,
      interval_hours: intervalHours,
      hourly_rate: Math.round(rate * 1e8) / 1e8 / intervalHours,
      annualized_pct: rate * (24 / intervalHours) * 365 * 100,
      next_funding_iso: new Date(nextFundingMs).toISOString(),
      as_of: new Date(asOfMs).toISOString(),
    })),
    venue_spread: spreadOf(venues, current),
  }
}

/** The baseline rate of a HIP-3 coin is not published. */
function biasOf(coin: string, exact: number): string {
  const rate = Number(exact.toFixed(8))
  if (coin.includes(':')) return 'UNKNOWN'
  if (rate < 0) return 'SHORT_PAYING'
  return rate > 0.00001875 ? 'LONG_PAYING' : 'NEUTRAL'
}

/** By the share of hours in which the paying side paid less. */
function crowdingOf(bias: string, rank: number | null): string {
  if (bias === 'UNKNOWN' || rank === null) return 'UNKNOWN'
  const paidLess = bias === 'LONG_PAYING' ? rank : bias === 'SHORT_PAYING' ? 100 - rank : 0
  if (paidLess < 85) return 'LOW'
  if (paidLess < 98) return 'MODERATE'
  return paidLess < 100 ? 'HIGH' : 'EXTREME'
}

/** One row per hour: the settled rate, else the last estimate. */
function rowsOf(log: readonly MarketEvent[], coin: string): Row[] {
  const history = log.flatMap((event) =>
    event.kind === 'funding-history' && event.coin === coin ? event.rows : [],
  )
  const estimates = estimatesOf(log, coin)
  const hours = new Set([...history, ...estimates].map(({ timeMs }) => timeMs))
  return [...hours]
    .sort((one, other) => one - other)
    .map((timeMs) => {
      const settled = history.findLast((row) => row.timeMs === timeMs && row.isSettled)
      if (settled !== undefined)
        return { timeMs, rate: settled.rateHourly, premium: settled.premium, settled: true }
      const estimate =
        estimates.findLast((row) => row.timeMs === timeMs) ??
        history.findLast((row) => row.timeMs === timeMs)
      return { timeMs, rate: estimate?.rateHourly ?? Number.NaN, premium: null, settled: false }
    })
}

/** The rate ten seconds before each hour, if the context is at most 15 s old. */
function estimatesOf(log: readonly MarketEvent[], coin: string) {
  const contexts = log.filter((event) => event.kind === 'context' && event.coin === coin)
  const hours = new Set(
    log.slice(1).map((event) => Math.floor((event.timeExchangeMs + LEAD_MS) / HOUR_MS) * HOUR_MS),
  )
  return [...hours].flatMap((timeMs) => {
    const readMs = timeMs - LEAD_MS
    // An engine that starts later does not read it.
    if (readMs <= (log[1]?.timeExchangeMs ?? 0)) return []
    const context = contexts.findLast(({ timeExchangeMs }) => timeExchangeMs < readMs)
    return context?.kind === 'context' && readMs - context.timeExchangeMs <= FRESH_MS
      ? [{ timeMs, rateHourly: context.fundingRateHourly }]
      : []
  })
}

function statisticsOf(rows: readonly Row[]) {
  const of = naiveStatistics(rows.map(({ rate }) => rate))
  const printed = naiveStatistics(rows.map((row) => (signOf(row) === 'ZERO' ? 0 : row.rate)))
  return {
    records: of.count,
    average_rate: of.mean,
    median_rate: of.median,
    max_rate: of.max,
    min_rate: of.min,
    stdev_rate: of.deviation,
    average_annualized_pct: of.mean * 24 * 365 * 100,
    cumulative_pct: of.sum * 100,
    positive_pct: naiveSteps(printed.positivePct, of.count, 100),
    flips: printed.flips,
  }
}

function trendOf(day: readonly Row[], hourMs: number): string {
  const recent = day.filter(({ timeMs }) => timeMs > hourMs - 4 * HOUR_MS)
  const before = day.filter(({ timeMs }) => timeMs <= hourMs - 4 * HOUR_MS)
  if (recent.length === 0 || before.length === 0) return 'UNKNOWN'
  const mean = (rows: readonly Row[]) => naiveStatistics(rows.map(({ rate }) => rate)).mean
  const bound = 0.5 * naiveStatistics(day.map(({ rate }) => rate)).deviation
  const rise = mean(recent) - mean(before)
  // Above the rounding error of a difference of equal numbers.
  if (Math.abs(rise) <= Math.max(bound, 1e-15)) return 'FLAT'
  return rise > 0 ? 'RISING' : 'FALLING'
}

function streakOf(rows: readonly Row[]) {
  const newest = rows.at(-1)
  if (newest === undefined) throw new Error('there is a record')
  let hours = 0
  for (const row of [...rows].reverse()) {
    const isNext = row.timeMs === newest.timeMs - hours * HOUR_MS
    if (!isNext || signOf(row) !== signOf(newest)) break
    hours += 1
  }
  return { streak_sign: signOf(newest), streak_hours: hours }
}

function signOf({ rate }: Row): string {
  if (Math.abs(rate) < 5e-9) return 'ZERO'
  return rate > 0 ? 'POSITIVE' : 'NEGATIVE'
}

/** Venue docs, Funding: both premium formulas; the rate is an eighth of premium plus clamped interest. */
function premiumOf(context: MarketEvent & { kind: 'context' }, coin: string) {
  const { impactBid, impactAsk, oraclePrice } = context
  if (impactBid === null || impactAsk === null) return { implied_rate: null, premium_bps: null }
  if (coin.split(':').length === 2) {
    const premium = ((impactBid + impactAsk) / 2 - oraclePrice) / oraclePrice
    return { implied_rate: null, premium_bps: premium * 1e4 }
  }
  let premium = 0
  if (impactBid > oraclePrice) premium += impactBid / oraclePrice - 1
  if (impactAsk < oraclePrice) premium -= 1 - impactAsk / oraclePrice
  let interest = 0.0001 - premium
  if (interest > 0.0005) interest = 0.0005
  if (interest < -0.0005) interest = -0.0005
  return { implied_rate: (premium + interest) / 8, premium_bps: premium * 1e4 }
}

function venuesOf(log: readonly MarketEvent[], coin: string, atMs: number) {
  const newest = log.findLast((event) => event.kind === 'venue-fundings' && event.coin === coin)
  if (newest?.kind !== 'venue-fundings' || atMs - newest.timeExchangeMs > HOUR_MS) return []
  return newest.fundings
    .filter(({ venue }) => venue !== 'HlPerp')
    .filter(({ nextFundingMs }) => nextFundingMs > atMs)
    .map((funding) => ({ ...funding, asOfMs: newest.timeExchangeMs }))
}

function spreadOf(venues: ReturnType<typeof venuesOf>, own: number) {
  if (venues.length === 0) return null
  // Of the printed rates, which have eight decimals, and a year of them has four.
  const yearly = (rate: number, hours: number) =>
    Math.round(((Math.round(rate * 1e8) / 1e8) * 365 * 24 * 100 * 1e4) / hours) / 1e4
  const rates = [
    ['HlPerp', yearly(own, 1)] as const,
    ...venues.map(
      ({ venue, rate, intervalHours }) => [venue, yearly(rate, intervalHours)] as const,
    ),
  ]
  const highest = Math.max(...rates.map(([, rate]) => rate))
  const lowest = Math.min(...rates.map(([, rate]) => rate))
  return {
    long_on: rates.find(([, rate]) => rate === lowest)?.[0],
    short_on: rates.findLast(([, rate]) => rate === highest)?.[0],
    gross_annualized_pct: highest - lowest,
  }
}
