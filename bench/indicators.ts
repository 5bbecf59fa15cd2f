/**
 * The pulse set against the streaming libraries of npm: `node_modules/.bin/tsx bench/indicators.ts`.
 * All contenders take turns in one run, so a busy machine slows all of them; goals are ratios.
 * `--quick` shortens it to a check that every contender calculates the same.
 */
import { PerformanceObserver } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import Table from 'cli-table3'
import { pulseValue } from '../src/compute/indicators/pulse-layout.ts'
import type { PulseSeries } from '../src/compute/indicators/pulse-series.ts'
import { PulsePool } from '../src/compute/indicators/pulse-series.ts'
import type { Bar } from '../src/domain/bar.ts'
import { seededCandles } from '../test/golden/seeded-candles.ts'
import type { Peer, PeerSeries, PeerValues } from './indicator-peers.ts'
import { peers } from './indicator-peers.ts'

const isQuick = process.argv.includes('--quick')
const SERIES = isQuick ? 20 : 600
const ROUNDS = isQuick ? 2 : 25
const TURN_MS = isQuick ? 1 : 25
const WARM_BARS = 220
const TAPE_BARS = 4096
/** The timed part repeats few bars, so that reading them evicts no contender's data from the cache. */
const TIMED_BARS = 512
/** EMAs of trading-signals start at the first price; by then the difference has decayed below 1e-12. */
const COMPARED_FROM = 3500

const tape = seededCandles({ seed: 42, count: TAPE_BARS, startPrice: 100, volatility: 0.01 })
const numbers = Float64Array.from(
  tape.flatMap(({ high, low, close, volumeBase }) => [high, low, close, volumeBase]),
)
const order = Object.values(pulseValue)

type Contender = {
  readonly name: string
  readonly kind: 'closed bar' | 'open-bar tick'
  /** Adds one bar to every series. @returns a value from every result, so that no work is optimised away. */
  step(): number
  readonly nsPerOperation: number[]
  turns: { startMs: number; endMs: number; operations: number }[]
  sum: number
}

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')
const failures: string[] = []

const memory = [measuredPulse(), ...peers.map(measuredPeer)]
compareValues()
const [pulse, ...peerSets] = memory
if (pulse === undefined) throw new Error('nothing was measured')
const contenders = [...pulse.contenders, ...peerSets.flatMap((set) => set.contenders)]
const scavenges: number[] = []
const observer = new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) scavenges.push(entry.startTime)
})
observer.observe({ entryTypes: ['gc'] })
for (let round = 0; round < ROUNDS + 2; round += 1) {
  for (const contender of contenders) takeTurn(contender, round >= 2)
}
await new Promise((resolve) => setTimeout(resolve, 50))
observer.disconnect()
report()

/** Every library and this one see the same 4,096 bars of one series; the last ones are compared. */
function compareValues(): void {
  const pool = new PulsePool(1)
  const ours = pool.open()
  const others = peers.map((peer) => ({ peer, series: peer.open(), error: 0 }))
  tape.forEach((bar, index) => {
    loadBar(pool, bar)
    ours.peek()
    ours.fold()
    for (const other of others) {
      const values = other.series.add(bar)
      if (index < COMPARED_FROM) continue
      order.forEach((slot, at) => {
        const expected = pool.values[slot]
        const error = Math.abs((values[at] ?? Number.NaN) - expected)
        const allowed = at === 0 ? other.peer.rsiRounding : 0
        const relative = Math.max(0, error - allowed) / Math.max(1, Math.abs(expected))
        other.error = Math.max(other.error, Number.isNaN(relative) ? Infinity : relative)
      })
    }
  })
  for (const { peer, error } of others) {
    console.log(`values of ${peer.name}: largest difference ${error.toExponential(1)}`)
    if (!(error <= 1e-9)) failures.push(`${peer.name} calculates something else`)
  }
}

function measuredPulse() {
  new PulsePool(1).open()
  const before = usedBytes()
  const pool = new PulsePool(SERIES)
  const series = Array.from({ length: SERIES }, () => pool.open())
  const bytesPerSeries = (usedBytes() - before) / SERIES
  for (let bar = 0; bar < WARM_BARS; bar += 1) foldAll(pool, series, bar)
  let closed = WARM_BARS
  let ticks = 0
  const contenders = [
    contender('perpscope', 'closed bar', () => foldAll(pool, series, closed++)),
    contender('perpscope', 'open-bar tick', () => peekAll(pool, series, closed + (ticks++ & 1))),
  ]
  return { name: 'perpscope', bytesPerSeries, contenders }
}

/**
 * Series `at` starts `at` bars later on the tape. Its ticks revise the next bar and alternate between two
 * versions of it, so that they are near the last close, as in a market.
 *
 * Every contender gets bars in its own form: the libraries get objects, this one numbers.
 */
function foldAll(pool: PulsePool, series: readonly PulseSeries[], index: number): number {
  for (let at = 0; at < series.length; at += 1) {
    loadNumbers(pool, index + at)
    series[at]?.fold()
  }
  return series[0]?.barCount ?? 0
}

function peekAll(pool: PulsePool, series: readonly PulseSeries[], index: number): number {
  let sum = 0
  for (let at = 0; at < series.length; at += 1) {
    loadNumbers(pool, index + at)
    series[at]?.peek()
    sum += pool.values[0] + pool.values[9]
  }
  return sum
}

function measuredPeer(peer: Peer) {
  const before = usedBytes()
  const series = Array.from({ length: SERIES }, () => peer.open())
  for (let bar = 0; bar < WARM_BARS; bar += 1) addAll(series, bar)
  const bytesPerSeries = (usedBytes() - before) / SERIES
  let closed = WARM_BARS
  let ticks = 0
  const contenders = [contender(peer.name, 'closed bar', () => addAll(series, closed++))]
  if (series[0]?.replace)
    contenders.push(
      contender(peer.name, 'open-bar tick', () => replaceAll(series, closed + (ticks++ & 1))),
    )
  return { name: peer.name, bytesPerSeries, contenders }
}

function addAll(series: readonly PeerSeries[], index: number): number {
  let sum = 0
  for (let at = 0; at < series.length; at += 1) {
    sum += ends(series[at]?.add(tapeBar(index + at)))
  }
  return sum
}

function replaceAll(series: readonly PeerSeries[], index: number): number {
  let sum = 0
  for (let at = 0; at < series.length; at += 1) {
    sum += ends(series[at]?.replace?.(tapeBar(index + at)))
  }
  return sum
}

function ends(values: PeerValues | undefined): number {
  return (values?.[0] ?? 0) + (values?.[9] ?? 0)
}

function tapeBar(index: number): Bar {
  return tape[index % TIMED_BARS] as Bar
}

function loadNumbers(pool: PulsePool, index: number): void {
  const at = (index % TIMED_BARS) * 4
  pool.bar[0] = numbers[at] as number
  pool.bar[1] = numbers[at + 1] as number
  pool.bar[2] = numbers[at + 2] as number
  pool.bar[3] = numbers[at + 3] as number
}

function loadBar(pool: PulsePool, bar: Bar): void {
  pool.bar[0] = bar.high
  pool.bar[1] = bar.low
  pool.bar[2] = bar.close
  pool.bar[3] = bar.volumeBase
}

function contender(name: string, kind: Contender['kind'], step: () => number): Contender {
  return { name, kind, step, nsPerOperation: [], turns: [], sum: 0 }
}

/** Turns have equal durations, not equal numbers of bars, so that each contender stays warm. */
function takeTurn(contender: Contender, isCounted: boolean): void {
  const startMs = performance.now()
  let endMs = startMs
  let operations = 0
  while (endMs - startMs < TURN_MS) {
    contender.sum += contender.step()
    operations += SERIES
    endMs = performance.now()
  }
  if (!isCounted) return
  contender.nsPerOperation.push(((endMs - startMs) * 1e6) / operations)
  contender.turns.push({ startMs, endMs, operations })
}

function report(): void {
  const table = new Table({
    style: { head: [], border: [], compact: true },
    head: ['', 'library', 'ns/op', 'best', 'x perpscope', 'GCs/10M ops', 'checksum'],
  })
  for (const kind of ['closed bar', 'open-bar tick'] as const) {
    const own = contenders.find((other) => other.name === 'perpscope' && other.kind === kind)
    for (const other of contenders.filter((each) => each.kind === kind)) {
      const ns = typical(other.nsPerOperation)
      table.push([
        kind,
        other.name,
        ns.toFixed(1),
        Math.min(...other.nsPerOperation).toFixed(1),
        (ns / typical(own?.nsPerOperation ?? [])).toFixed(1),
        collections(other).toFixed(0),
        other.sum.toExponential(6),
      ])
    }
  }
  console.log(`${SERIES} series, ${ROUNDS} rounds of ${TURN_MS} ms each, lower quartile`)
  console.log(table.toString())
  const sizes = new Table({
    style: { head: [], border: [], compact: true },
    head: ['library', `bytes per series after ${WARM_BARS} bars`],
  })
  for (const set of memory) sizes.push([set.name, set.bytesPerSeries.toFixed(0)])
  console.log(sizes.toString())

  goal(
    'a closed bar, times faster than trading-signals',
    ratio('closed bar', 'trading-signals'),
    35,
  )
  goal(
    'a closed bar, times faster than technicalindicators',
    ratio('closed bar', 'technicalindicators'),
    150,
  )
  goal(
    'an open-bar tick, times faster than trading-signals',
    ratio('open-bar tick', 'trading-signals'),
    180,
  )
  goal('2048 bytes over bytes per series', 2048 / (pulse?.bytesPerSeries ?? Number.NaN), 1)
  for (const failure of failures) console.log(`failed: ${failure}`)
  if (failures.length > 0) process.exitCode = 1
}

function goal(what: string, reached: number, least: number): void {
  const isReached = reached >= least
  console.log(
    `${isReached ? 'pass' : isQuick ? 'not measured' : 'FAIL'}  ${what}: ${reached.toFixed(2)} (goal ${least})`,
  )
  if (!isReached && !isQuick) failures.push(what)
}

function ratio(kind: Contender['kind'], peer: string): number {
  const of = (name: string) =>
    typical(
      contenders.find((each) => each.name === name && each.kind === kind)?.nsPerOperation ?? [],
    )
  return of(peer) / of('perpscope')
}

function collections(contender: Contender): number {
  const inTurns = scavenges.filter((atMs) =>
    contender.turns.some(({ startMs, endMs }) => atMs >= startMs && atMs <= endMs),
  )
  const operations = contender.turns.reduce((sum, turn) => sum + turn.operations, 0)
  return (inTurns.length / operations) * 1e7
}

/** The lower quartile, which excludes turns that other processes interrupted. */
function typical(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 4)] ?? Number.NaN
}

/** Heap in use after repeated collections that release nothing more. */
function usedBytes(): number {
  for (let before = Number.POSITIVE_INFINITY, round = 0; round < 20; round += 1) {
    collectGarbage()
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    if (heapUsed + arrayBuffers >= before) return before
    before = heapUsed + arrayBuffers
  }
  throw new Error('memory in use does not settle')
}
