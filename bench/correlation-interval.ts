/**
 * Coverage of the confidence interval of a correlation: `node_modules/.bin/tsx bench/correlation-interval.ts`.
 * Measured on simulated pairs of known correlation, compared with Fisher's interval, and on real hourly closes in
 * `../shared/data`, where two halves of one window measure the same correlation twice. `--quick` shortens it.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import Table from 'cli-table3'
import { pairInterval } from '../src/compute/analyses/correlation/pair-interval.ts'
import type {
  PairModel,
  ReturnPair,
} from '../src/compute/analyses/correlation/testing/dependent-pairs.ts'
import {
  PairDraws,
  pairModels,
  trueCorrelation,
} from '../src/compute/analyses/correlation/testing/dependent-pairs.ts'

const isQuick = process.argv.includes('--quick')
const DRAWS = isQuick ? 200 : 4_000
const COVERAGE_MIN_PCT = 93
const COVERAGE_MAX_PCT = 97
const CORRELATIONS = [0, 0.5, 0.8, 0.95]
const SIMULATED_HOURS = [24, 48, 96, 168, 360, 720]
const REAL_HOURS = [168, 360, 720]
const HOUR_MS = 3_600_000
const NORMAL_95 = 1.959963984540054
const DATA = join(import.meta.dirname, '../../shared/data/hl-candles-2025-07/coins')

const outside: string[] = []
simulated()
if (existsSync(DATA)) real()
else console.log('skipped: ../shared/data is not here')
for (const cell of outside) console.log(`outside 93 to 97 %: ${cell}`)
if (outside.length > 0 && !isQuick) process.exitCode = 1

function simulated(): void {
  const table = new Table({
    style: { head: [], border: [], compact: true },
    head: ['pairs', 'true r', ...SIMULATED_HOURS.map((hours) => `${hours} h`)],
  })
  for (const model of pairModels)
    for (const ofInnovations of CORRELATIONS) {
      const truth = trueCorrelation(model, ofInnovations)
      const cells = SIMULATED_HOURS.map((hours) => simulatedCell(model, ofInnovations, hours))
      table.push([model.name, truth, ...cells])
    }
  console.log(`covered of ${DRAWS} draws, percent (Fisher's own interval in brackets)`)
  console.log(table.toString())
}

function simulatedCell(model: PairModel, ofInnovations: number, hours: number): string {
  const z = Math.atanh(trueCorrelation(model, ofInnovations))
  const draws = new PairDraws(model, ofInnovations, hours)
  let [covered, byFisher] = [0, 0]
  for (let draw = 0; draw < DRAWS; draw += 1) {
    const measured = zOf(draws.next(hours))
    const distance = Math.abs(measured.z - z)
    if (distance <= measured.reach) covered += 1
    if (distance <= NORMAL_95 / Math.sqrt(hours - 3)) byFisher += 1
  }
  const coveredPct = (100 * covered) / DRAWS
  judge(`${model.name}, r ${ofInnovations}, ${hours} h`, coveredPct, DRAWS)
  return `${coveredPct.toFixed(1)} (${((100 * byFisher) / DRAWS).toFixed(0)})`
}

/**
 * Each coin with BTC. Begin and end: half the difference between the two halves of a window has the standard error of
 * the window's correlation, so it must lie within its interval. Not judged: alternating days, because both parts share
 * the moves of weeks, so their intervals are too wide; and the next window, because its true correlation differs.
 */
function real(): void {
  const table = new Table({
    style: { head: [], border: [], compact: true },
    head: ['hours', 'windows', 'begin and end', 'days in turn', 'next window', 'width', 'p90'],
  })
  const pairs = realPairs()
  for (const hours of REAL_HOURS) {
    const found = pairs.flatMap((pair) => [...windowsOf(pair, hours)])
    const share = (name: 'daysInTurn' | 'beginAndEnd' | 'next') => {
      const known = found.flatMap((each) => each[name] ?? [])
      const pct = (100 * known.filter((isCovered) => isCovered).length) / known.length
      if (name === 'beginAndEnd') judge(`real pairs, begin and end, ${hours} h`, pct, known.length)
      return pct.toFixed(1)
    }
    const widths = found.map(({ width }) => width).toSorted((one, other) => one - other)
    const width = (quantile: number) => widths[Math.floor(quantile * widths.length)]?.toFixed(2)
    table.push([
      hours,
      found.length,
      share('beginAndEnd'),
      share('daysInTurn'),
      share('next'),
      width(0.5),
      width(0.9),
    ])
  }
  console.log(`${pairs.length} real coins with BTC; width in those of Fisher's interval`)
  console.log(table.toString())
}

function* windowsOf({ xs, ys }: ReturnPair, hours: number) {
  const part = (from: number, isIn: (at: number) => boolean = () => true): ReturnPair => ({
    xs: xs.slice(from, from + hours).filter((_, at) => isIn(at)),
    ys: ys.slice(from, from + hours).filter((_, at) => isIn(at)),
  })
  for (let from = 0; from + hours <= xs.length; from += hours) {
    const whole = zOf(part(from))
    const [odd, even] = [0, 1].map((rest) =>
      zOf(part(from, (at) => Math.floor(at / 24) % 2 === rest)),
    ) as [Unsure, Unsure]
    const [begin, end] = [0, 1].map((rest) =>
      zOf(part(from, (at) => Math.floor((2 * at) / hours) === rest)),
    ) as [Unsure, Unsure]
    // A coin that did not move in one of the parts has no correlation there.
    if (![whole, odd, even, begin, end].every(({ z }) => Number.isFinite(z))) continue
    const next = from + 2 * hours <= xs.length ? zOf(part(from + hours)) : null
    yield {
      daysInTurn: Math.abs(odd.z - even.z) <= Math.hypot(odd.reach, even.reach),
      beginAndEnd: Math.abs(begin.z - end.z) / 2 <= whole.reach,
      next:
        next === null || !Number.isFinite(next.z)
          ? null
          : Math.abs(next.z - whole.z) <= Math.hypot(next.reach, whole.reach),
      width: whole.reach / (NORMAL_95 / Math.sqrt(hours - 3)),
    }
  }
}

type Unsure = { readonly z: number; readonly reach: number }

/** Fisher's z, and the half width of its interval. */
function zOf({ xs, ys }: ReturnPair): Unsure {
  const r = correlationOf(xs, ys)
  const interval = Number.isNaN(r) ? null : pairInterval(xs, ys, r)
  if (interval === null) return { z: Number.NaN, reach: Number.NaN }
  return { z: Math.atanh(r), reach: (Math.atanh(interval.high) - Math.atanh(interval.low)) / 2 }
}

function correlationOf(xs: Float64Array, ys: Float64Array): number {
  const [meanX, meanY] = [xs, ys].map(
    (values) => values.reduce((sum, value) => sum + value, 0) / values.length,
  ) as [number, number]
  let [products, squaresX, squaresY] = [0, 0, 0]
  for (let at = 0; at < xs.length; at += 1) {
    const [x, y] = [(xs[at] as number) - meanX, (ys[at] as number) - meanY]
    products += x * y
    squaresX += x * x
    squaresY += y * y
  }
  return squaresX > 0 && squaresY > 0 ? products / Math.sqrt(squaresX * squaresY) : Number.NaN
}

function realPairs(): ReturnPair[] {
  const leader = closesOf('BTC')
  return readdirSync(DATA)
    .filter((coin) => coin !== 'BTC' && existsSync(join(DATA, coin, '1h.csv.gz')))
    .map((coin) => {
      const own = closesOf(coin)
      const hours = [...own.keys()].filter((hour) =>
        [own, leader].every((closes) => closes.has(hour) && closes.has(hour - 1)),
      )
      const returns = (closes: ReadonlyMap<number, number>) =>
        Float64Array.from(hours, (hour) =>
          Math.log((closes.get(hour) as number) / (closes.get(hour - 1) as number)),
        )
      return { xs: returns(own), ys: returns(leader) }
    })
}

function closesOf(coin: string): ReadonlyMap<number, number> {
  const text = gunzipSync(readFileSync(join(DATA, coin, '1h.csv.gz'))).toString('utf8')
  const rows = text.trim().split('\n').slice(1)
  return new Map(
    rows.map((row) => {
      const [openTimeMs = 0, , , , close = 0] = row.split(',').map(Number)
      return [openTimeMs / HOUR_MS, close]
    }),
  )
}

/** Fails if the coverage is outside the range by more than two standard errors of the count. */
function judge(cell: string, coveredPct: number, count: number): void {
  const chancePct = 2 * Math.sqrt((coveredPct * (100 - coveredPct)) / count)
  if (coveredPct >= COVERAGE_MIN_PCT - chancePct && coveredPct <= COVERAGE_MAX_PCT + chancePct)
    return
  outside.push(`${cell}: ${coveredPct.toFixed(1)} %`)
}
