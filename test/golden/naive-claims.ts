import type { Bar } from '../../src/domain/bar.ts'
import type { NaiveLiquidations } from './naive-liquidations.ts'
import { moments, naivePulse } from './naive-pulse.ts'
import { naiveComposite, naiveDrivers } from './naive-regime.ts'
import { naiveVolatilityPercentile } from './naive-volatility.ts'

const QUARTER_MS = 900_000
const HOUR_MS = 3_600_000
const FOUR_HOURS_MS = 4 * HOUR_MS
const DAY_MS = 24 * HOUR_MS

/** Older bars have no weight in the signals. */
const BARS_READ = 700

/** What the market did, by its bars alone. */
export type NaiveCoin = {
  readonly coin: string
  /** 15m bars without a gap, as long as the longest horizon needs. */
  readonly quarters: readonly Bar[]
  /** 1h and 4h bars from before the first 15m bar on. */
  readonly hours: readonly Bar[]
  readonly fourHours: readonly Bar[]
  /** Settled hourly rates. */
  readonly fundings: readonly { readonly timeMs: number; readonly rateHourly: number }[]
}

export type NaiveDraw = { readonly madeAtMs: number; readonly item: number }

/** The instant of a rule's claim in an hour, by the description of the draw, in whole numbers of any size. */
export function naiveDraw(rule: string, coin: string, hourMs: number): NaiveDraw | null {
  const word = 2n ** 32n
  let hash = 2_166_136_261n
  for (const byte of Buffer.from(`${rule}|${coin}|${hourMs / HOUR_MS}`, 'utf8'))
    hash = ((hash ^ BigInt(byte)) * 16_777_619n) % word
  hash = ((hash ^ (hash / 2n ** 16n)) * 0x85ebca6bn) % word
  hash = ((hash ^ (hash / 2n ** 13n)) * 0xc2b2ae35n) % word
  hash ^= hash / 2n ** 16n
  if (hash % 4n !== 0n) return null
  return {
    madeAtMs: hourMs + Number((hash / 4n) % 4n) * QUARTER_MS,
    item: Number(hash / 16n),
  }
}

export type NaiveSignals = Readonly<
  Record<'rsi' | 'trend' | 'bollinger' | 'zscore' | 'vwap', number>
>

/** Combined candle signals of 1h and 4h at the end of a 15m bar; 1 bullish, -1 bearish. */
export function naiveSignals(coin: NaiveCoin, atMs: number): NaiveSignals {
  const [hour, four] = [HOUR_MS, FOUR_HOURS_MS].map((stepMs) =>
    votesOf(barsUntil(coin, stepMs, atMs)),
  )
  if (hour === undefined || four === undefined) throw new Error('two timeframes have votes')
  const combined = (name: keyof NaiveSignals) => {
    const mean = (2 * hour[name] + 3 * four[name]) / 5
    return mean >= 0.5 ? 1 : mean <= -0.5 ? -1 : 0
  }
  return {
    rsi: combined('rsi'),
    trend: combined('trend'),
    bollinger: combined('bollinger'),
    zscore: combined('zscore'),
    vwap: combined('vwap'),
  }
}

/** Vote of the newest settled rate: contrarian, among the hours of 30 days. */
export function naiveFundingVote({ fundings }: NaiveCoin, atMs: number): number {
  const month = fundings
    .filter(({ timeMs }) => timeMs <= atMs && timeMs > atMs - 30 * DAY_MS)
    .map(({ rateHourly }) => rateHourly)
  const rate = month.at(-1) ?? Number.NaN
  const below = month.filter((other) => other < rate).length
  const equal = month.filter((other) => other === rate).length
  const rank = Math.round((100 * (below + equal / 2)) / month.length)
  if (rate > 1.5 * 0.0000125) return rank >= 98 ? -1 : 0
  return rate < 0 && 100 - rank >= 85 ? 1 : 0
}

/** Net of the weighted signals, by the table of docs/numbers/pulse.md; without open interest. */
export function naiveNet(signals: NaiveSignals, funding: number): number {
  const { rsi, trend, bollinger, zscore, vwap } = signals
  const sum = rsi + 1.5 * trend + 0.75 * (bollinger + zscore + vwap + funding)
  return sum / (1 + 1.5 + 4 * 0.75)
}

/** Closed bars of a length, then the forming one: without trades yet it repeats the close before it. */
function barsUntil(
  { quarters, hours, fourHours }: NaiveCoin,
  stepMs: number,
  atMs: number,
  barsRead = BARS_READ,
): Bar[] {
  const closed = (stepMs === HOUR_MS ? hours : fourHours)
    .filter(({ openTimeMs }) => openTimeMs + stepMs <= atMs)
    .slice(-barsRead)
  const openTimeMs = Math.floor(atMs / stepMs) * stepMs
  const parts = quarters.filter(
    (bar) => bar.openTimeMs >= openTimeMs && bar.openTimeMs + QUARTER_MS <= atMs,
  )
  const traded = parts.filter(({ volumeBase }) => volumeBase > 0)
  const last = parts.at(-1) ?? closed.at(-1)
  if (last === undefined) throw new Error('there are bars')
  const { close } = last
  const prices = traded.length > 0 ? traded : [{ open: close, high: close, low: close }]
  const flat = { high: close, low: close }
  const all = traded.length > 0 ? [...prices, flat] : prices
  const forming: Bar = {
    openTimeMs,
    open: prices[0]?.open ?? close,
    high: Math.max(...all.map(({ high }) => high)),
    low: Math.min(...all.map(({ low }) => low)),
    close,
    volumeBase: traded.reduce((sum, { volumeBase }) => sum + volumeBase, 0),
  }
  return [...closed, forming]
}

/** By the table of docs/numbers/pulse.md. */
function votesOf(bars: readonly Bar[]): NaiveSignals {
  const pulse = naivePulse(bars).at(-1)
  const close = bars.at(-1)?.close ?? Number.NaN
  if (pulse === undefined) throw new Error('there are bars')
  const { rsi14, ema20, ema50, middle, deviation, zscore100, vwap20, atr14 } = pulse
  if (moments(bars.slice(-20).map((bar) => bar.close)).deviation === 0)
    return { rsi: 0, trend: 0, bollinger: 0, zscore: 0, vwap: 0 }
  const position = (close - (middle - 2 * deviation)) / (4 * deviation)
  const distance = close - vwap20
  return {
    rsi: rsi14 >= 60 && rsi14 < 70 ? 1 : rsi14 > 30 && rsi14 <= 40 ? -1 : 0,
    trend: close > ema50 && ema20 > ema50 ? 1 : close < ema50 && ema20 < ema50 ? -1 : 0,
    bollinger: position < 0.2 ? 1 : position > 0.8 ? -1 : 0,
    zscore: zscore100 <= -1.5 ? 1 : zscore100 >= 1.5 ? -1 : 0,
    vwap: distance > atr14 / 4 ? 1 : distance < -atr14 / 4 ? -1 : 0,
  }
}

/**
 * Base rate of a direction over the same hours of the last 36 days, with 100 days of even odds, of which the same
 * share has no move, but a day's worth.
 */
export function naiveBaseRate(
  coin: NaiveCoin,
  atMs: number,
  horizonMs: number,
  direction: number,
): number {
  const closes = closesOf(coin)
  const hourMs = Math.floor(atMs / HOUR_MS) * HOUR_MS
  const signs: number[] = []
  for (let day = 1; day <= 36; day += 1) {
    const [before, after] = [hourMs - day * DAY_MS, hourMs - day * DAY_MS + horizonMs]
    const [one, other] = [closes.get(before), closes.get(after)]
    if (one === undefined || other === undefined) continue
    signs.push(Math.sign(other - one))
  }
  const countOf = (sign: number) => signs.filter((found) => found === sign).length
  const still = signs.length === 0 ? 0 : Math.min(countOf(0), signs.length - 1) / signs.length
  return (countOf(direction) + 50 * (1 - still)) / (signs.length + 100)
}

/** The 15m bars between two instants. */
export function naiveWindow({ quarters }: NaiveCoin, fromMs: number, untilMs: number): Bar[] {
  return quarters.filter(({ openTimeMs }) => openTimeMs >= fromMs && openTimeMs < untilMs)
}

/** Price at the end of a 15m bar. */
export function naiveClose({ quarters }: NaiveCoin, atMs: number): number {
  return quarters.find(({ openTimeMs }) => openTimeMs + QUARTER_MS === atMs)?.close ?? Number.NaN
}

/** ATR 14 of 1h bars, the forming one included, percent of its price. */
export function naiveAtrPct(coin: NaiveCoin, atMs: number): number {
  const bars = barsUntil(coin, HOUR_MS, atMs)
  return (100 * (naivePulse(bars).at(-1)?.atr14 ?? Number.NaN)) / (bars.at(-1)?.close ?? Number.NaN)
}

/** Largest move of the day before, percent of the price at its start. */
export function naiveDayMovePct(coin: NaiveCoin, atMs: number): number {
  const bars = naiveWindow(coin, atMs - DAY_MS, atMs)
  const start = naiveClose(coin, atMs - DAY_MS)
  return 100 * Math.max(...bars.flatMap(({ high, low }) => [high / start - 1, 1 - low / start]))
}

/** Probability that a random walk reaches a level within a day, by integration of the normal density. */
export function naiveTouchProbability(deviations: number): number {
  const steps = 20_000
  const width = deviations / steps
  let inner = 0
  for (let step = 0; step < steps; step += 1)
    inner += Math.exp(-(((step + 0.5) * width) ** 2) / 2) * width
  return 1 - (2 * inner) / Math.sqrt(2 * Math.PI)
}

/** Standard deviation of the log price over a day: the mean range of an hour is 1.596 of its own. */
export function naiveDayDeviation(coin: NaiveCoin, atMs: number): number {
  return ((naiveAtrPct(coin, atMs) / 100) * Math.sqrt(24)) / Math.sqrt(8 / Math.PI)
}

/** Quantiles that `funding.reverting@1` and its control state of the settlement after an instant. */
export function naiveFundingQuantiles({ fundings }: NaiveCoin, atMs: number) {
  const lastMs = Math.floor(atMs / HOUR_MS) * HOUR_MS
  const rateAt = new Map(fundings.map(({ timeMs, rateHourly }) => [timeMs, rateHourly]))
  const ratesOf = (hours: number) =>
    Array.from({ length: hours }, (_, at) => lastMs - (hours - 1 - at) * HOUR_MS)
  const month = ratesOf(720).flatMap((timeMs) => rateAt.get(timeMs) ?? [])
  const usual = quantileOf(month, 0.5)
  const week = ratesOf(168).map((timeMs) => rateAt.get(timeMs) ?? Number.NaN)
  const pairs = week
    .slice(1)
    .map((after, at) => [week[at] ?? Number.NaN, after] as const)
    .filter(([before, after]) => !Number.isNaN(before + after))
  const last = week.at(-1) ?? Number.NaN
  const covariance = pairs.reduce((sum, [one, next]) => sum + (one - usual) * (next - usual), 0)
  const variance = pairs.reduce((sum, [one]) => sum + (one - usual) ** 2, 0)
  const kept = variance > 0 ? Math.min(1, Math.max(0, covariance / variance)) : 1
  const errors = pairs.map(([one, next]) => next - usual - kept * (one - usual))
  const changes = pairs.map(([one, next]) => next - one)
  const levels = [0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975]
  return {
    values: levels.map((level) => usual + kept * (last - usual) + quantileOf(errors, level)),
    control: levels.map((level) => last + quantileOf(changes, level)),
  }
}

/** Quantiles of the volatility of the next day by EWMA with decay 0.97, over the closes of 50 days. */
export function naiveEwmaQuantiles(coin: NaiveCoin, atMs: number, closesMax: number): number[] {
  const returns = returnsOf(coin, atMs, closesMax)
  const forecasts: number[] = []
  let [variance, seen] = [0, 0]
  for (const change of returns) {
    forecasts.push(seen >= 24 ? variance : Number.NaN)
    if (Number.isNaN(change)) continue
    seen += 1
    const weight = Math.max(0.03, 1 / seen)
    variance = (1 - weight) * variance + weight * change ** 2
  }
  const errors = forecasts.flatMap((forecast, at) => {
    const following = returns.slice(at, at + 24)
    const known = following.filter((change) => !Number.isNaN(change))
    if (following.length < 24 || known.length < 18) return []
    const realised = known.reduce((sum, change) => sum + change ** 2, 0) / known.length
    const error = Math.log(realised / forecast) / 2
    return Number.isFinite(error) ? [error] : []
  })
  const { mean, deviation } = moments(errors)
  const median = 100 * Math.sqrt(variance * 24 * 365) * Math.exp(mean)
  return logNormal(median, deviation)
}

/**
 * The same by HAR, by docs/numbers/volatility.md: logs of day, week and month, a row an hour, slopes shrunk by 0.05; the
 * spread is the median error of the forecasts that each past hour would have made.
 */
export function naiveHarQuantiles(coin: NaiveCoin, atMs: number, closesMax: number): number[] {
  const returns = returnsOf(coin, atMs, closesMax)
  const rows = returns.flatMap((_, hour) => {
    const isWhole = hour >= 168 && hour + 24 <= returns.length
    const row = isWhole ? regressorsAt(returns, hour) : null
    const target = logVariance(returns.slice(hour, hour + 24), 24)
    return row !== null && Number.isFinite(target) ? [{ hour, row, target }] : []
  })
  const forecastAt = (hour: number) => {
    const known = rows.filter((row) => row.hour + 24 <= hour)
    const present = regressorsAt(returns, hour)
    return known.length < 336 || present === null ? Number.NaN : ridgeForecast(known, present)
  }
  const errors = rows.flatMap(({ hour, target }) => {
    const error = Math.abs(Math.exp((forecastAt(hour) - target) / 2) - 1)
    return Number.isNaN(error) ? [] : [error]
  })
  const median = 100 * Math.sqrt(Math.exp(forecastAt(returns.length)) * 24 * 365)
  return logNormal(median, quantileOf(errors, 0.5) / 0.67449)
}

/** Geometric mean of two medians, mean of two spreads. */
export function naiveBlend(one: readonly number[], other: readonly number[]): number[] {
  const [median, spread] = [one, other]
    .map((quantiles) => [quantiles[3] ?? 0, Math.log((quantiles[5] ?? 0) / (quantiles[3] ?? 0))])
    .reduce(([m = 0, d = 0], [n = 0, e = 0]) => [Math.sqrt(m * n), (d + e) / 2])
  return logNormal(median ?? Number.NaN, (spread ?? Number.NaN) / 1.281552)
}

/** Score of a cascade by the table of docs/numbers/liquidations.md, three decimals. */
export function naiveCascadeScore(
  { long, short }: NaiveLiquidations,
  current: number,
  openInterestUsd: number,
  atrPct: number,
): number {
  const away = ({ price }: { readonly price: number }) => 100 * Math.abs(price / current - 1)
  const distances = [long, short].flatMap(({ usd, clusters }) =>
    clusters.filter((cluster) => cluster.usd >= 0.05 * usd).map(away),
  )
  const [longUsd = 0, shortUsd = 0] = [long, short].map(({ withinUsd }) => withinUsd[2] ?? 0)
  const larger = Math.max(longUsd, shortUsd)
  const proximity = distances.length === 0 ? 0 : Math.exp(-Math.min(...distances) / 5)
  const size = 1 - Math.exp(-larger / openInterestUsd / 0.2)
  const skew = larger === 0 ? 0 : Math.abs(longUsd - shortUsd) / (longUsd + shortUsd)
  const volatility = 1 - Math.exp(-atrPct / 1.5)
  return 0.35 * proximity + 0.3 * size + 0.15 * skew + 0.2 * volatility
}

/** How little risk the market takes: minus the composite of docs/numbers/regime.md. */
export function naiveRegimeScore(coins: readonly NaiveCoin[], atMs: number): number {
  const bars = new Map(
    coins.map((coin) => [
      coin.coin,
      { fours: barsUntil(coin, FOUR_HOURS_MS, atMs), hours: barsUntil(coin, HOUR_MS, atMs, 1_000) },
    ]),
  )
  const hours = bars.get('BTC')?.hours ?? []
  const closed = hours.slice(0, -1)
  const atrPct = ([closed, hours] as const).map(
    (known) => (100 * (naivePulse(known).at(-1)?.atr14 ?? 0)) / (known.at(-1)?.close ?? 0),
  )
  const percentile = naiveVolatilityPercentile(closed, Math.max(...atrPct)) ?? Number.NaN
  const drivers = { ...naiveDrivers(bars, atMs), btc_volatility: 1 - (2 * percentile) / 100 }
  return -naiveComposite(drivers)
}

type HarRow = { readonly row: readonly number[]; readonly target: number }

/** Least squares about the means by the normal equations of three slopes, by Cramer's rule. */
function ridgeForecast(rows: readonly HarRow[], present: readonly number[]): number {
  const mean = (read: (row: HarRow) => number) =>
    rows.reduce((sum, row) => sum + read(row), 0) / rows.length
  const centre = [0, 1, 2].map((field) => mean(({ row }) => row[field] ?? 0))
  const level = mean(({ target }) => target)
  const off = ({ row }: HarRow, field: number) => (row[field] ?? 0) - (centre[field] ?? 0)
  const matrix = [0, 1, 2].map((one) =>
    [0, 1, 2].map((two) => mean((row) => off(row, one) * off(row, two)) + (one === two ? 0.05 : 0)),
  )
  const right = [0, 1, 2].map((one) => mean((row) => off(row, one) * (row.target - level)))
  const whole = determinant(matrix)
  return present.reduce((sum, value, field) => {
    const replaced = matrix.map((row, at) =>
      row.map((x, to) => (to === field ? (right[at] ?? 0) : x)),
    )
    return sum + (value - (centre[field] ?? 0)) * (determinant(replaced) / whole)
  }, level)
}

function determinant(matrix: readonly (readonly number[])[]): number {
  const [[a = 0, b = 0, c = 0] = [], [d = 0, e = 0, f = 0] = [], [g = 0, h = 0, i = 0] = []] =
    matrix
  return a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
}

function regressorsAt(returns: readonly number[], hour: number): number[] | null {
  const row = [24, 168, Math.min(720, hour)].map((hours) =>
    logVariance(returns.slice(hour - hours, hour), hours),
  )
  return row.every(Number.isFinite) ? row : null
}

/** Log of the mean squared return; NaN for fewer than three quarters of the hours. */
function logVariance(returns: readonly number[], hours: number): number {
  const known = returns.filter((change) => !Number.isNaN(change))
  if (known.length < 0.75 * hours) return Number.NaN
  return Math.log(known.reduce((sum, change) => sum + change ** 2, 0) / known.length)
}

/** Hourly log returns up to an instant, oldest first; NaN where a close is unknown. */
function returnsOf(coin: NaiveCoin, atMs: number, closesMax: number): number[] {
  const closes = closesOf(coin)
  const lastMs = Math.floor(atMs / HOUR_MS) * HOUR_MS
  const series = Array.from(
    { length: closesMax },
    (_, at) => closes.get(lastMs - (closesMax - 1 - at) * HOUR_MS) ?? Number.NaN,
  )
  return series.slice(1).map((close, at) => Math.log(close / (series[at] ?? Number.NaN)))
}

function logNormal(median: number, deviation: number): number[] {
  const normal = [-1.959964, -1.281552, -0.67449, 0, 0.67449, 1.281552, 1.959964]
  return normal.map((quantile) => median * Math.exp(quantile * deviation))
}

/** Closes of whole hours, by the instant of the close. */
function closesOf({ hours, quarters }: NaiveCoin): ReadonlyMap<number, number> {
  const closes = new Map<number, number>()
  for (const { openTimeMs, close } of hours) closes.set(openTimeMs + HOUR_MS, close)
  for (const { openTimeMs, close } of quarters)
    if ((openTimeMs + QUARTER_MS) % HOUR_MS === 0) closes.set(openTimeMs + QUARTER_MS, close)
  return closes
}

/** Interpolated between the two nearest values. */
function quantileOf(values: readonly number[], level: number): number {
  const ascending = values.toSorted((one, other) => one - other)
  const place = level * (ascending.length - 1)
  const [below = Number.NaN, above = below] = ascending.slice(Math.floor(place))
  return below + (place - Math.floor(place)) * (above - below)
}
