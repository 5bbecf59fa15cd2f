import type { Bar } from '../../src/domain/bar.ts'
import { naivePulse } from './naive-pulse.ts'
import { naiveStatistics } from './naive-statistics.ts'
import { naiveVolatilityPercentile } from './naive-volatility.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const STEP_MS = 5 * MINUTE_MS

/** One evaluation; composite is null with insufficient data. */
export type NaiveEvaluation = {
  readonly atMs: number
  readonly composite: number | null
  readonly isStressed: boolean
}

type NaiveRegime = {
  readonly label: string
  readonly sinceMs: number
  readonly previous: string | null
}

/** The labels after each evaluation by `docs/numbers/regime.md`, each computed from all evaluations up to it. */
export function naiveRegimes(evaluations: readonly NaiveEvaluation[]): NaiveRegime[] {
  const labels: string[] = []
  evaluations.forEach((evaluation, at) => {
    const { atMs, composite, isStressed } = evaluation
    const before = evaluations[at - 1]
    const isInRow = before !== undefined && atMs > before.atMs && atMs - before.atMs <= STEP_MS
    const twice = (holds: (of: NaiveEvaluation) => boolean) =>
      holds(evaluation) && isInRow && holds(before)
    const isLongAgo = before === undefined || Math.abs(atMs - before.atMs) > 2 * HOUR_MS
    const last = isLongAgo ? 'UNKNOWN' : labels[at - 1]
    const isCalm = (of: NaiveEvaluation) => of.composite !== null && !of.isStressed
    let label = 'NEUTRAL'
    if (composite === null) label = 'UNKNOWN'
    else if (isStressed || (last === 'STRESS' && !twice(isCalm))) label = 'STRESS'
    else if (twice((of) => (of.composite ?? 0) >= 0.25)) label = 'RISK_ON'
    else if (twice((of) => (of.composite ?? 0) <= -0.25)) label = 'RISK_OFF'
    else if (last === 'RISK_ON' && composite >= 0.1) label = 'RISK_ON'
    else if (last === 'RISK_OFF' && composite <= -0.1) label = 'RISK_OFF'
    labels.push(label)
  })
  return labels.map((_, last) => newestRun(evaluations.slice(0, last + 1), labels))
}

/** The last run of equal labels. More than two hours after an evaluation the label is UNKNOWN without one. */
function newestRun(
  evaluations: readonly NaiveEvaluation[],
  labels: readonly string[],
): NaiveRegime {
  const course = evaluations.flatMap(({ atMs }, at) => {
    const label = labels[at] ?? ''
    const before = evaluations[at - 1]
    if (before === undefined || Math.abs(atMs - before.atMs) <= 2 * HOUR_MS)
      return [{ label, atMs }]
    return [
      { label: 'UNKNOWN', atMs: Math.min(atMs, before.atMs + 2 * HOUR_MS) },
      { label, atMs },
    ]
  })
  const { label } = lastOf(course)
  const previous = course.findLastIndex((one) => one.label !== label)
  return {
    label,
    sinceMs: course[previous + 1]?.atMs ?? Number.NaN,
    previous: course[previous]?.label ?? null,
  }
}

/** Bars of one coin, ascending and without gaps; the last bar of each list is still forming. */
export type NaiveCoin = { readonly fours: readonly Bar[]; readonly hours: readonly Bar[] }

/** The four drivers of `docs/numbers/regime.md`, directly from the bars of all coins. */
export function naiveDrivers(
  coins: ReadonlyMap<string, NaiveCoin>,
  atMs: number,
): Record<string, number> {
  const above = [...coins.values()].filter(({ fours }) => {
    const { ema50 } = lastOf(naivePulse(fours))
    return lastOf(fours).close > ema50
  })
  const returns = [...coins.values()].map(({ fours, hours }) => {
    const past = hours.filter(({ openTimeMs }) => openTimeMs + HOUR_MS <= atMs - 168 * HOUR_MS)
    return lastOf(fours).close / lastOf(past).close - 1
  })
  const btc = coins.get('BTC')
  if (btc === undefined) throw new Error('BTC is among the coins')
  const hour = lastOf(btc.hours)
  const atrPct = (lastOf(naivePulse(btc.hours)).atr14 / hour.close) * 100
  const percentile = naiveVolatilityPercentile(btc.hours.slice(0, -1), atrPct)
  return {
    btc_trend_4h: trendScore(btc.fours),
    breadth: (2 * above.length) / coins.size - 1,
    momentum_7d: Math.tanh(naiveStatistics(returns).median / 0.1),
    btc_volatility: 1 - (2 * (percentile ?? Number.NaN)) / 100,
  }
}

export function naiveComposite(drivers: Record<string, number>): number {
  const { btc_trend_4h = 0, breadth = 0, momentum_7d = 0, btc_volatility = 0 } = drivers
  // Of the printed parts, in thousandths.
  const part = (weight: number, value: number) => rounded(weight * rounded(value * 1_000)) / 1_000
  return (
    part(0.4, btc_trend_4h) +
    part(0.3, breadth) +
    part(0.15, momentum_7d) +
    part(0.15, btc_volatility)
  )
}

/** Halves away from zero. */
function rounded(value: number): number {
  return value < 0 ? -Math.round(-value) : Math.round(value)
}

function trendScore(fours: readonly Bar[]): number {
  const { ema20, ema50, ema200 } = lastOf(naivePulse(fours))
  const { close } = lastOf(fours)
  const width = Math.max(ema20, ema50, ema200) - Math.min(ema20, ema50, ema200)
  if (width <= 0.001 * close) return 0
  if (ema20 > ema50 && ema50 > ema200) return 1
  if (ema20 < ema50 && ema50 < ema200) return -1
  if (ema20 > ema50 && close > ema50) return 0.5
  return ema20 < ema50 && close < ema50 ? -0.5 : 0
}

function lastOf<Value>(values: readonly Value[]): Value {
  const last = values.at(-1)
  if (last === undefined) throw new Error('there is a last one')
  return last
}
