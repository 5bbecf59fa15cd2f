/**
 * All correlations of 200 coins over 720 hourly returns, compared with simple-statistics and a plain loop, and the time
 * that one answer takes in the engine and in the worker: `node_modules/.bin/tsx bench/correlation.ts`. All contenders
 * take turns in one run; goals are ratios. `--quick` only checks that every contender calculates the same.
 */
import Table from 'cli-table3'
import { sampleCorrelation } from 'simple-statistics'
import { RETURN_MS } from '../src/compute/analyses/correlation/correlation-window.ts'
import type { GatheredCloses } from '../src/compute/analyses/correlation/gathered-closes.ts'
import { gatherCloses } from '../src/compute/analyses/correlation/gathered-closes.ts'
import { measure } from '../src/compute/analyses/correlation/measure-correlation.ts'
import { pairStatistics } from '../src/compute/analyses/correlation/pair-statistics.ts'
import { closedBy, hourlyHistory } from '../src/compute/analyses/correlation/testing/market-log.ts'
import { PulsePool } from '../src/compute/indicators/pulse-series.ts'
import { newMarket } from '../src/compute/testing/new-market.ts'
import { universe } from '../src/compute/testing/tape.ts'
import { CLOSES_READ } from '../src/compute/volatility/hourly-closes.ts'
import type { Bar } from '../src/domain/bar.ts'
import { seededChance } from '../test/golden/seeded-candles.ts'

const isQuick = process.argv.includes('--quick')
const COINS = isQuick ? 24 : 200
const HOURS = isQuick ? 96 : 720
const ROUNDS = isQuick ? 2 : 15
const TURN_MS = isQuick ? 1 : 60
const START_HOUR = 490_000
const DIFFERENCE_MAX = 1e-9
const ANSWERS = isQuick ? 3 : 40

type Contender = {
  readonly name: string
  /** One step of the measured work. @returns the correlations of all pairs, row by row. */
  step(): ArrayLike<number>
  readonly msPerStep: number[]
  checksum: number
}

const failures: string[] = []
const rows = returnsOfMarket()
const typed = rows.map((returns) => Float64Array.from(returns))

const naive = contender('plain loop over everything, five sums', () => naiveCorrelations(rows))
const peer = contender('simple-statistics, every ordered pair', () => peerCorrelations())
const ours = contender('perpscope, every ordered pair, two passes', () => ourCorrelations())
const contenders: Contender[] = [
  naive,
  contender('plain loop, rows in variables', () => tunedCorrelations()),
  contender('plain loop, rows in variables, every pair once', () => tunedHalf()),
  peer,
  ours,
]

compareValues()
for (let round = 0; round < ROUNDS + 1; round += 1)
  for (const each of contenders) takeTurn(each, round > 0)
report()
reportAnswers()
for (const failure of failures) console.log(`failed: ${failure}`)
if (failures.length > 0) process.exitCode = 1

/** One market that moves together, and each coin by itself. */
function returnsOfMarket(): number[][] {
  const chance = seededChance(7)
  const returns: number[][] = Array.from({ length: COINS }, () => [])
  for (let hour = 0; hour < HOURS; hour += 1) {
    const common = chance() + chance() - 1
    for (const row of returns) row.push(0.005 * (common + 1.5 * (chance() + chance() - 1)))
  }
  return returns
}

/** The unoptimised implementation; goals are ratios to it. */
function naiveCorrelations(returns: readonly (readonly number[])[]): Float64Array {
  const correlations = new Float64Array(COINS * COINS)
  for (let a = 0; a < COINS; a += 1) {
    for (let b = 0; b < COINS; b += 1) {
      let [sumX, sumY, squaresX, squaresY, products] = [0, 0, 0, 0, 0]
      for (let at = 0; at < HOURS; at += 1) {
        const x = (returns[a] as number[])[at] as number
        const y = (returns[b] as number[])[at] as number
        sumX += x
        sumY += y
        squaresX += x * x
        squaresY += y * y
        products += x * y
      }
      correlations[a * COINS + b] =
        (HOURS * products - sumX * sumY) /
        Math.sqrt((HOURS * squaresX - sumX * sumX) * (HOURS * squaresY - sumY * sumY))
    }
  }
  return correlations
}

function tunedCorrelations(): Float64Array {
  const correlations = new Float64Array(COINS * COINS)
  for (let a = 0; a < COINS; a += 1)
    for (let b = 0; b < COINS; b += 1)
      correlations[a * COINS + b] = tunedPair(rows[a] as number[], rows[b] as number[])
  return correlations
}

function tunedHalf(): Float64Array {
  const correlations = new Float64Array(COINS * COINS)
  for (let a = 0; a < COINS; a += 1)
    for (let b = a; b < COINS; b += 1) {
      const r = tunedPair(rows[a] as number[], rows[b] as number[])
      correlations[a * COINS + b] = r
      correlations[b * COINS + a] = r
    }
  return correlations
}

function tunedPair(xs: readonly number[], ys: readonly number[]): number {
  let [sumX, sumY, squaresX, squaresY, products] = [0, 0, 0, 0, 0]
  for (let at = 0; at < HOURS; at += 1) {
    const x = xs[at] as number
    const y = ys[at] as number
    sumX += x
    sumY += y
    squaresX += x * x
    squaresY += y * y
    products += x * y
  }
  return (
    (HOURS * products - sumX * sumY) /
    Math.sqrt((HOURS * squaresX - sumX * sumX) * (HOURS * squaresY - sumY * sumY))
  )
}

function peerCorrelations(): Float64Array {
  const correlations = new Float64Array(COINS * COINS)
  for (let a = 0; a < COINS; a += 1)
    for (let b = 0; b < COINS; b += 1)
      correlations[a * COINS + b] = sampleCorrelation(rows[a] as number[], rows[b] as number[])
  return correlations
}

function ourCorrelations(): Float64Array {
  const correlations = new Float64Array(COINS * COINS)
  for (const [a, xs] of typed.entries())
    for (const [b, ys] of typed.entries()) correlations[a * COINS + b] = pairStatistics(xs, ys).r
  return correlations
}

function contender(name: string, step: () => ArrayLike<number>): Contender {
  return { name, step, msPerStep: [], checksum: 0 }
}

function compareValues(): void {
  const expected = naiveCorrelations(rows)
  for (const each of contenders) compare(each.name, each.step(), expected)
}

function compare(name: string, values: ArrayLike<number>, expected: ArrayLike<number>): void {
  let difference = 0
  for (let at = 0; at < expected.length; at += 1) {
    const distance = Math.abs((values[at] ?? Number.NaN) - (expected[at] as number))
    difference = Math.max(difference, Number.isNaN(distance) ? Number.POSITIVE_INFINITY : distance)
  }
  console.log(`${name}: largest difference ${difference.toExponential(1)}`)
  if (!(difference <= DIFFERENCE_MAX)) failures.push(`${name} calculates something else`)
}

/** Measures CPU time, because wall time on a shared machine includes other processes. */
function takeTurn(each: Contender, isCounted: boolean): void {
  let steps = 0
  let cpuMs = 0
  while (cpuMs < TURN_MS) {
    cpuMs += timed(() => {
      const correlations = each.step()
      each.checksum += correlations[correlations.length - 2] ?? 0
    })
    steps += 1
  }
  if (isCounted) each.msPerStep.push(cpuMs / steps)
}

function report(): void {
  const table = new Table({
    style: { head: [], border: [], compact: true },
    head: ['', 'CPU ms', 'best', 'times faster than the plain loop', 'checksum'],
  })
  for (const each of contenders) {
    table.push([
      each.name,
      typical(each).toPrecision(3),
      Math.min(...each.msPerStep).toPrecision(3),
      (typical(naive) / typical(each)).toPrecision(3),
      sumOf(each.step()).toFixed(6),
    ])
  }
  console.log(`${COINS} coins, ${HOURS} returns, ${ROUNDS} rounds of ${TURN_MS} ms, lower quartile`)
  console.log(table.toString())
  goal('times faster than simple-statistics', typical(peer) / typical(ours), 1)
}

/** CPU time of one answer: gathering blocks the engine, everything else is done in the worker. */
function reportAnswers(): void {
  const market = newMarket(new PulsePool(3 * COINS))
  const coins = Array.from({ length: COINS }, (_, at) => (at === 0 ? 'BTC' : `C${at}`))
  market.apply(universe(coins))
  for (const [at, coin] of coins.entries()) {
    const bars = Array.from({ length: CLOSES_READ }, (_, age) =>
      barOf(START_HOUR - CLOSES_READ + 1 + age, at),
    )
    market.apply(hourlyHistory(coin, bars, closedBy(START_HOUR)))
  }
  const gatherMs: number[] = []
  const crossMs: number[] = []
  const measureMs: number[] = []
  for (let answer = 0; answer < ANSWERS; answer += 1) {
    let gathered: GatheredCloses | undefined
    gatherMs.push(timed(() => (gathered = gatherCloses(market))))
    crossMs.push(timed(() => structuredClone(gathered)))
    const measured = measure(gathered as GatheredCloses)
    if (measured.kind === 'lacking') failures.push('nothing was measured')
    measureMs.push(timed(() => measure(gathered as GatheredCloses)))
  }
  for (const [what, times] of [
    ['a gathering in the engine', gatherMs],
    ['its copy for the worker', crossMs],
    ['all figures in the worker', measureMs],
  ] as const) {
    const [median, late] = [0.5, 0.9].map((share) => quantile(times, share).toFixed(3))
    console.log(`${what}: p50 ${median} ms, p90 ${late} ms, n ${times.length}`)
  }
  goal('10 ms over p90 of a gathering', 10 / quantile(gatherMs, 0.9), 1)
}

function barOf(hour: number, at: number): Bar {
  const close = 100 + 10 * Math.sin(hour * (1 + at / COINS))
  return {
    openTimeMs: hour * RETURN_MS,
    open: close,
    high: close,
    low: close,
    close,
    volumeBase: 1,
  }
}

/** CPU of the process, ms. */
function timed(work: () => void): number {
  const start = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1000
}

function quantile(times: readonly number[], share: number): number {
  const sorted = times.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN
}

function goal(what: string, reached: number, least: number): void {
  const isReached = reached >= least
  const verdict = isReached ? 'pass' : isQuick ? 'not measured' : 'FAIL'
  console.log(`${verdict}  ${what}: ${reached.toFixed(1)} (goal ${least})`)
  if (!isReached && !isQuick) failures.push(what)
}

function sumOf(numbers: ArrayLike<number>): number {
  let sum = 0
  for (let at = 0; at < numbers.length; at += 1) sum += numbers[at] as number
  return sum
}

/** The lower quartile, which excludes turns that other processes interrupted. */
function typical({ msPerStep }: Contender): number {
  return msPerStep.toSorted((a, b) => a - b)[Math.floor(msPerStep.length / 4)] ?? Number.NaN
}
