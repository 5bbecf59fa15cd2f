/**
 * All correlations of 200 coins over 720 hourly returns, compared with simple-statistics and a plain loop:
 * `node_modules/.bin/tsx bench/correlation.ts`. All contenders take turns in one run; goals are ratios.
 * `--quick` only checks that every contender calculates the same.
 */
import Table from 'cli-table3'
import { sampleCorrelation } from 'simple-statistics'
import { correlationTracker } from '../src/compute/analyses/correlation/correlation-tracker.ts'
import { RETURN_MS } from '../src/compute/analyses/correlation/correlation-window.ts'
import { gatherReturns } from '../src/compute/analyses/correlation/gathered-returns.ts'
import { LiveReturnTable } from '../src/compute/analyses/correlation/return-table.ts'
import { RollingCorrelation } from '../src/compute/analyses/correlation/rolling-correlation.ts'
import { closedBy, hourlyHistory } from '../src/compute/analyses/correlation/testing/market-log.ts'
import { fromReturns } from '../src/compute/analyses/correlation/testing/returns.ts'
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
const RING_HOURS = 912
const START_HOUR = 490_000
/** Coins that were listed half a window ago, to measure the cost of gaps. */
const YOUNG_COINS = COINS / 10
const DIFFERENCE_MAX = 1e-9
const TURN_HOURS = isQuick ? 3 : 48
const TURNS_PER_HOUR = 400

type Contender = {
  readonly name: string
  /** One step of the measured work. @returns the correlations of all pairs, row by row. */
  step(): ArrayLike<number>
  /** False for contenders that compute another window or a part. */
  readonly isCompared: boolean
  readonly msPerStep: number[]
  checksum: number
}

const failures: string[] = []
const window = { endHour: START_HOUR + HOURS - 1, hours: HOURS }
const whole = marketTable(0)
const rows = Array.from({ length: COINS }, (_, row) =>
  Array.from({ length: HOURS }, (_, at) => whole.at(row, START_HOUR + at)),
)

const naive = contender('plain loop over everything, five sums', () => naiveCorrelations(rows))
const newBar = rollingContender('perpscope, a new bar: moved on and all pairs read', 0)
const contenders: Contender[] = [
  naive,
  contender('plain loop, rows in variables', () => tunedCorrelations()),
  contender('plain loop, rows in variables, every pair once', () => tunedHalf()),
  contender('simple-statistics, every ordered pair', () => peerCorrelations()),
  contender('perpscope from the returns, pair by pair', () => fromReturns(whole, window, 2)),
  newBar,
  rollingContender(`perpscope, a new bar, ${YOUNG_COINS} coins young`, YOUNG_COINS),
  summingContender('perpscope, one coin summed anew'),
]

compareValues()
for (let round = 0; round < ROUNDS + 1; round += 1)
  for (const each of contenders) takeTurn(each, round > 0)
report()
reportTurns()
for (const failure of failures) console.log(`failed: ${failure}`)
if (failures.length > 0) process.exitCode = 1

/** One market that moves together, and each coin by itself. */
function marketTable(youngCoins: number): LiveReturnTable {
  const chance = seededChance(7)
  const table = new LiveReturnTable(COINS, RING_HOURS)
  for (let row = 0; row < COINS; row += 1) table.addRow()
  for (let hour = START_HOUR; hour < START_HOUR + RING_HOURS; hour += 1) {
    const common = chance() + chance() - 1
    for (let row = 0; row < COINS; row += 1) {
      const isYoung = row >= COINS - youngCoins && hour < START_HOUR + HOURS / 2
      const logReturn = 0.005 * (common + 1.5 * (chance() + chance() - 1))
      table.set(row, hour, isYoung ? Number.NaN : logReturn)
    }
  }
  return table
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

/** Moves on by one bar per step, and repeats the returns of its ring. */
function rollingContender(name: string, youngCoins: number): Contender {
  const rolling = summed(marketTable(youngCoins))
  return contender(
    name,
    () => {
      rolling.roll()
      return rolling.correlations()
    },
    false,
  )
}

function summingContender(name: string): Contender {
  const rolling = summed(marketTable(0))
  const sums = new Float64Array(1)
  let turn = 0
  return contender(
    name,
    () => {
      sums[0] = rolling.sum(turn++ % COINS)
      return sums
    },
    false,
  )
}

function summed(table: LiveReturnTable): RollingCorrelation {
  const rolling = new RollingCorrelation(table, HOURS, 2)
  rolling.restart(window.endHour)
  for (let row = 0; row < COINS; row += 1) rolling.sum(row)
  return rolling
}

function contender(name: string, step: () => ArrayLike<number>, isCompared = true): Contender {
  return { name, step, isCompared, msPerStep: [], checksum: 0 }
}

/** All compute the same window; the rolling sums are also compared after 1.5 rounds of the ring. */
function compareValues(): void {
  const expected = naiveCorrelations(rows)
  for (const each of contenders.filter(({ isCompared }) => isCompared))
    compare(each.name, each.step(), expected)
  const table = marketTable(YOUNG_COINS)
  const rolling = summed(table)
  for (let hour = 0; hour < 1.5 * RING_HOURS; hour += 1) rolling.roll()
  const moved = { endHour: rolling.endHour, hours: HOURS }
  const read = rolling.correlations()
  const values = fromReturns(table, moved, 2)
  const held = values.map((_, at) => {
    const [a, b] = [Math.floor(at / COINS), at % COINS]
    return read[Math.min(a, b) * rolling.width + Math.max(a, b)] as number
  })
  compare('rolling sums, never summed anew', held, values)
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
      sumOf(each.isCompared ? each.step() : naive.step()).toFixed(6),
    ])
  }
  console.log(`${COINS} coins, ${HOURS} returns, ${ROUNDS} rounds of ${TURN_MS} ms, lower quartile`)
  console.log(table.toString())
  goal('a new bar, times faster than the plain loop', typical(naive) / typical(newBar), 400)
}

/**
 * CPU time for which the tracker blocks the engine: hours close coin by coin, one old bar is corrected in
 * each, with 25 turns a second and a gathering every eight.
 */
function reportTurns(): void {
  const market = newMarket(new PulsePool(3 * COINS))
  const coins = Array.from({ length: COINS }, (_, at) => (at === 0 ? 'BTC' : `C${at}`))
  market.apply(universe(coins))
  const closes = (hour: number, hours: number, at: number) => {
    const bars = Array.from({ length: hours }, (_, age) => barOf(hour - hours + 1 + age, at))
    market.apply(hourlyHistory(coins[at] as string, bars, closedBy(hour)))
  }
  for (let at = 0; at < COINS; at += 1) closes(START_HOUR, CLOSES_READ, at)
  const turnMs: number[] = []
  const gatherMs: number[] = []
  for (let hour = START_HOUR; hour < START_HOUR + TURN_HOURS; hour += 1) {
    for (let turn = 0; turn < TURNS_PER_HOUR; turn += 1) {
      if (hour > START_HOUR)
        for (let at = turn; at < COINS; at += TURNS_PER_HOUR / 2) closes(hour, 1, at)
      if (turn === TURNS_PER_HOUR / 2) closes(hour - 300, 1, hour % COINS)
      turnMs.push(timed(() => market.of(correlationTracker).advance(market)))
      if (turn % 200 === 199) gatherMs.push(timed(() => gatherReturns(market)))
    }
  }
  const { disagreements, endHour } = market.of(correlationTracker).state()
  if (disagreements > 0) failures.push('rolling sums were off')
  if (endHour !== START_HOUR + TURN_HOURS - 1) failures.push('an hour did not enter')
  for (const [what, times] of [
    ['a turn of the engine', turnMs],
    ['a gathering', gatherMs],
  ] as const) {
    const [median, late, most] = [0.5, 0.999, 1].map((share) => quantile(times, share).toFixed(3))
    console.log(
      `${what}: p50 ${median} ms, p99.9 ${late} ms, longest ${most} ms, n ${times.length}`,
    )
  }
  goal('10 ms over p99.9 of a turn', 10 / quantile(turnMs, 0.999), 1)
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
