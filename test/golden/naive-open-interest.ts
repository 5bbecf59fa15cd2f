import type { MarketEvent } from '../../src/domain/event.ts'
import type { NaiveSample } from './naive-samples.ts'
import { naiveSamples } from './naive-samples.ts'
import { naivePercentile, naiveStatistics, naiveSteps, naiveZScore } from './naive-statistics.ts'
import { naiveUsdPerUnit } from './naive-unit.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const windowsMs = {
  '5m': 5 * MINUTE_MS,
  '1h': HOUR_MS,
  '4h': 4 * HOUR_MS,
  '24h': 24 * HOUR_MS,
  '7d': 168 * HOUR_MS,
}

type Context = MarketEvent & { kind: 'context' }

/**
 * Reference of `/oi/{coin}` without rounding, computed from the raw event log by direct search. Defined in
 * `docs/numbers/oi.md`. null where there is no answer.
 */
export function naiveOpenInterest(log: readonly MarketEvent[], coin: string): object | null {
  const context = lastContext(log, coin)
  if (context === undefined) return null
  const samples = naiveSamples(log, coin)
  const hourMs = Math.floor(context.timeExchangeMs / HOUR_MS) * HOUR_MS
  const month = samples.filter(
    ({ timeMs }) => timeMs % HOUR_MS === 0 && timeMs <= hourMs && timeMs > hourMs - 720 * HOUR_MS,
  )
  const { openInterestBase: current, markPrice: mark } = context
  const readings = month.map(({ interest }) => interest)
  const isRanked = readings.length >= 20
  const z = isRanked ? naiveZScore(readings, current) : null
  const oldestMs = month[0]?.timeMs
  return {
    coin,
    price: mark,
    oi: {
      current,
      notional_usd: orNone(current * mark * naiveUsdPerUnit(log, coin)),
      ...changesOf(samples, context),
      percentile: isRanked
        ? naiveSteps(naivePercentile(readings, current), readings.length, 100)
        : null,
      percentile_window_hours: oldestMs === undefined ? 0 : (hourMs - oldestMs) / HOUR_MS + 1,
      percentile_readings: readings.length,
      zscore: isRanked && z !== null ? naiveSteps(z, readings.length, 1) : null,
      window_high: isRanked ? Math.max(current, ...readings) : null,
      window_low: isRanked ? Math.min(current, ...readings) : null,
      ...labelsOf(samples, month, context),
      oi_to_volume_24h: context.dayNotional === 0 ? null : (current * mark) / context.dayNotional,
      share_pct: shareOf(log, coin),
      history: month
        .filter(({ timeMs }) => timeMs > hourMs - 24 * HOUR_MS)
        .map(({ timeMs, interest }) => ({
          timestamp_iso: new Date(timeMs).toISOString(),
          current: interest,
        })),
    },
  }
}

/** The reading nearest to the start of the window, the earlier of two; within a tenth of the window or an hour. */
function readingOf(samples: readonly NaiveSample[], context: Context, windowMs: number) {
  const fromMs = context.timeExchangeMs - windowMs
  const off = ({ timeMs }: NaiveSample) => Math.abs(timeMs - fromMs)
  return samples
    .filter(({ timeMs }) => windowMs <= 24 * HOUR_MS || timeMs % HOUR_MS === 0)
    .filter((sample) => off(sample) <= Math.min(windowMs / 10, HOUR_MS))
    .sort((one, other) => off(one) - off(other) || one.timeMs - other.timeMs)[0]
}

function changesOf(samples: readonly NaiveSample[], context: Context) {
  const found: Record<string, number | null> = {}
  const seconds: Record<string, number | null> = {}
  for (const [name, windowMs] of Object.entries(windowsMs)) {
    const then = readingOf(samples, context, windowMs)
    const pct = (now: number, before: number) =>
      before === 0 ? null : ((now - before) / before) * 100
    const { openInterestBase, markPrice } = context
    // Three members of the answer have no unit in their names.
    const unit = ['1h', '4h', '24h'].includes(name) ? '' : '_pct'
    found[`delta_${name}${unit}`] = then === undefined ? null : pct(openInterestBase, then.interest)
    found[`price_change_${name}${unit}`] = then === undefined ? null : pct(markPrice, then.mark)
    found[`notional_delta_${name}_pct`] =
      then === undefined ? null : pct(openInterestBase * markPrice, then.interest * then.mark)
    seconds[`delta_${name}`] =
      then === undefined ? null : (context.timeExchangeMs - then.timeMs) / 1_000
  }
  return { ...found, delta_windows_seconds: seconds }
}

function labelsOf(
  samples: readonly NaiveSample[],
  month: readonly NaiveSample[],
  context: Context,
) {
  const moves = month.flatMap(({ timeMs, interest }) => {
    const before = month.find((other) => other.timeMs === timeMs - 4 * HOUR_MS)
    return before === undefined ? [] : [(interest / before.interest) * 100 - 100]
  })
  const isOwn = moves.length >= 168
  const ownPct = Math.max(0.5, Math.min(20, 2 * naiveStatistics(moves).deviation))
  const thresholdPct = isOwn ? ownPct : 3
  const threshold = {
    trend_threshold_pct: thresholdPct,
    trend_threshold_basis: isOwn ? 'own_moves' : 'fixed',
  }
  const then = readingOf(samples, context, 4 * HOUR_MS)
  if (then === undefined)
    return {
      ...threshold,
      trend: 'UNKNOWN',
      price_oi_divergence: 'UNKNOWN',
      positioning: 'UNKNOWN',
    }
  const interest = (context.openInterestBase / then.interest) * 100 - 100
  const price = (context.markPrice / then.mark) * 100 - 100
  let trend = 'FLAT'
  if (interest > thresholdPct) trend = 'RISING'
  if (interest < -thresholdPct) trend = 'FALLING'
  let divergence = 'NONE'
  if (interest <= -2 && price <= -1) divergence = 'BULLISH_DIV'
  if (interest <= -2 && price >= 1) divergence = 'BEARISH_DIV'
  let positioning = 'NEUTRAL'
  if (price >= 0.5 && interest >= 1) positioning = 'LONG_BUILDUP'
  if (price <= -0.5 && interest >= 1) positioning = 'SHORT_BUILDUP'
  if (price <= -0.5 && interest <= -1) positioning = 'LONG_UNWIND'
  if (price >= 0.5 && interest <= -1) positioning = 'SHORT_COVERING'
  return { ...threshold, trend, price_oi_divergence: divergence, positioning }
}

/** Share of all listed coins; null if fewer than 90 % of them have a context of the last five minutes. */
function shareOf(log: readonly MarketEvent[], coin: string): number | null {
  const universe = log.findLast((event) => event.kind === 'universe')
  if (universe?.kind !== 'universe') return null
  const trading = universe.listings.filter(({ isDelisted }) => !isDelisted)
  const nowMs = log.at(-1)?.timeReceivedMs ?? Number.NaN
  const contexts = trading
    .flatMap((listing) => lastContext(log, listing.coin) ?? [])
    .filter(({ timeReceivedMs }) => nowMs - timeReceivedMs <= 300_000)
  const notionals = contexts
    .map((of) => ({
      coin: of.coin,
      usd: of.openInterestBase * of.markPrice * naiveUsdPerUnit(log, of.coin),
    }))
    .filter(({ usd }) => !Number.isNaN(usd))
  if (notionals.length < 0.9 * trading.length) return null
  const total = notionals.reduce((sum, { usd }) => sum + usd, 0)
  const own = notionals.find((of) => of.coin === coin)
  return own === undefined || total === 0 ? null : (own.usd / total) * 100
}

function orNone(value: number): number | null {
  return Number.isNaN(value) ? null : value
}

function lastContext(log: readonly MarketEvent[], coin: string): Context | undefined {
  return log.findLast((event): event is Context => event.kind === 'context' && event.coin === coin)
}
