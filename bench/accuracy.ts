/**
 * Rounding error after ten million updates: `node_modules/.bin/tsx bench/accuracy.ts`. The pulse set and the
 * textbook's rolling sums of x and x² (as in TA-Lib and Tulip) process the same bars and are compared with
 * sums over the window itself. `--quick` runs a hundredth.
 */
import assert from 'node:assert/strict'
import Table from 'cli-table3'
import { pulseValue } from '../src/compute/indicators/pulse-layout.ts'
import { PulsePool } from '../src/compute/indicators/pulse-series.ts'
import { moments } from '../test/golden/naive-pulse.ts'
import { seededChance } from '../test/golden/seeded-candles.ts'

const isQuick = process.argv.includes('--quick')
const UPDATES = isQuick ? 100_000 : 10_000_000
const CHECK_EVERY = isQuick ? 97 : 997
const SPIKE_EVERY = UPDATES / 10
const ERROR_MAX = 1e-9
const RING = 128

type Market = {
  readonly name: string
  /** Price of a bar from the price before it. */
  readonly price: (before: number, update: number, chance: () => number) => number
}

const markets: readonly Market[] = [
  {
    name: 'volatile walk',
    price: (before, _, chance) => Math.max(before * (1 + 0.04 * (chance() - 0.5)), 1e-3),
  },
  { name: 'quiet major 65000±3', price: (_before, _, chance) => quiet(chance) },
  {
    name: 'quiet, with spikes of 50 %',
    price: (_before, update, chance) => quiet(chance) * (update % SPIKE_EVERY === 0 ? 1.5 : 1),
  },
  {
    name: 'price falls from 65000 to 6.5',
    price: (_before, update, chance) => quiet(chance) / (update < UPDATES / 2 ? 1 : 10_000),
  },
]

const names = ['rsi14', 'atr14', 'ema200', 'vwap20', 'deviation20', 'zscore100'] as const
type Errors = Record<(typeof names)[number], number>

function main(): void {
  let isWrong = false
  const table = new Table({
    style: { head: [], border: [], compact: true },
    head: ['market', 'method', ...names, 'flat afterwards', 'checksum'],
  })
  for (const market of markets) {
    const { ours, sums, checksum } = run(market)
    table.push([
      market.name,
      'perpscope',
      ...cells(ours.errors),
      ours.flat,
      checksum.toExponential(8),
    ])
    table.push(['', 'sums of x and x²', ...cells(sums.errors), sums.flat, ''])
    if (Math.max(...Object.values(ours.errors)) > ERROR_MAX || ours.flat !== '0 / null')
      isWrong = true
  }
  console.log(
    `worst relative error after ${UPDATES} updates, checked every ${CHECK_EVERY} and after spikes, second half`,
  )
  console.log(table.toString())
  console.log(
    `${isWrong ? 'FAIL' : 'pass'}  every error of perpscope <= ${ERROR_MAX}, flat is exactly flat`,
  )
  if (isWrong) process.exitCode = 1
}

function run(market: Market) {
  const pool = new PulsePool(1)
  const series = pool.open()
  const { bar, values } = pool
  const chance = seededChance(2024)
  const closes = new Float64Array(RING)
  const turnovers = new Float64Array(RING)
  const volumes = new Float64Array(RING)
  const narrow = new RollingSums(20)
  const wide = new RollingSums(100)
  const traded = new RollingSums(20)
  const turned = new RollingSums(20)
  const slow = new KahanAverages()
  const ours = noErrors()
  const sums = noErrors()
  let checksum = 0
  let price = 100

  const update = (at: number, next: number, volume: number) => {
    const slot = at % RING
    const high = Math.max(price, next)
    const low = Math.min(price, next)
    bar[0] = high
    bar[1] = low
    bar[2] = next
    bar[3] = volume
    closes[slot] = next
    volumes[slot] = volume
    turnovers[slot] = ((high + low + next) / 3) * volume
    narrow.update(closes, at)
    wide.update(closes, at)
    traded.update(volumes, at)
    turned.update(turnovers, at)
    slow.update(high, low, next)
    price = next
  }
  const check = (at: number) => {
    // Distances from the newest close, so that the reference loses no digits to the price.
    const distances = windowOf(closes, at, 100).map((close) => close - price)
    const short = moments(distances.slice(0, 20))
    const long = moments(distances)
    const z = -long.mean / long.deviation
    const vwap = total(windowOf(turnovers, at, 20)) / total(windowOf(volumes, at, 20))
    const reach = values[pulseValue.bollingerUpper] - values[pulseValue.bollingerMiddle]
    worsen(ours, 'rsi14', values[pulseValue.rsi14], slow.rsi, 100)
    worsen(ours, 'atr14', values[pulseValue.atr14], slow.range)
    worsen(ours, 'ema200', values[pulseValue.ema200], slow.ema)
    worsen(ours, 'vwap20', values[pulseValue.vwap20], vwap)
    worsen(ours, 'deviation20', reach / 2, short.deviation)
    worsen(ours, 'zscore100', values[pulseValue.zscore100], z, Math.max(1, Math.abs(z)))
    worsen(sums, 'vwap20', turned.mean / traded.mean, vwap)
    worsen(sums, 'deviation20', narrow.deviation, short.deviation)
    const sumsZ = (price - wide.mean) / wide.deviation
    worsen(sums, 'zscore100', sumsZ, z, Math.max(1, Math.abs(z)))
  }

  for (let at = 0; at < UPDATES; at += 1) {
    update(at, market.price(price, at, chance), 1 + 1000 * chance())
    const isAfterSpike = at % SPIKE_EVERY < 200
    const isChecked = at > UPDATES / 2 && (at % CHECK_EVERY === 0 || isAfterSpike)
    if (isChecked) {
      series.peek()
      check(at)
      checksum += values[pulseValue.zscore100] + values[pulseValue.rsi14]
    }
    series.fold()
  }
  for (let at = UPDATES; at < UPDATES + 300; at += 1) {
    update(at, price, 1)
    series.peek()
    series.fold()
  }
  const isFlat =
    values[pulseValue.bollingerUpper] === values[pulseValue.bollingerLower] &&
    Number.isNaN(values[pulseValue.zscore100])
  return {
    ours: { errors: ours, flat: isFlat ? '0 / null' : 'NOT FLAT' },
    sums: {
      errors: { ...sums, rsi14: -1, atr14: -1, ema200: -1 },
      flat: narrow.deviation.toExponential(0),
    },
    checksum,
  }
}

/** The peer: mean and deviation from running sums that are never rebuilt. */
class RollingSums {
  readonly #length: number
  #sum = 0
  #squares = 0

  constructor(length: number) {
    this.#length = length
  }

  get mean(): number {
    return this.#sum / this.#length
  }

  get deviation(): number {
    return Math.sqrt(this.#squares / this.#length - this.mean ** 2)
  }

  /** @param values Ring that already holds the newest value. */
  update(values: Float64Array, at: number): void {
    const entering = values[at % RING] ?? 0
    const leaving = at < this.#length ? 0 : (values[(at - this.#length) % RING] ?? 0)
    this.#sum += entering - leaving
    this.#squares += entering * entering - leaving * leaving
  }
}

/** Reference for recursive indicators: the same recursions with Kahan summation. */
class KahanAverages {
  readonly #gain = new CarriedAverage(14, 14)
  readonly #loss = new CarriedAverage(14, 14)
  readonly #range = new CarriedAverage(14, 14)
  readonly #ema = new CarriedAverage(200, 201 / 2)
  #previous = Number.NaN

  get rsi(): number {
    const gain = this.#gain.value
    return (100 * gain) / (gain + this.#loss.value)
  }

  get range(): number {
    return this.#range.value
  }

  get ema(): number {
    return this.#ema.value
  }

  update(high: number, low: number, close: number): void {
    const previous = this.#previous
    this.#previous = close
    this.#ema.update(close)
    if (Number.isNaN(previous)) return
    this.#gain.update(Math.max(close - previous, 0))
    this.#loss.update(Math.max(previous - close, 0))
    const reach = Math.max(Math.abs(high - previous), Math.abs(low - previous))
    this.#range.update(Math.max(high - low, reach))
  }
}

/** An average that starts as the mean of `seedCount` values; each later value has the weight 1 / divisor. */
class CarriedAverage {
  readonly #seedCount: number
  readonly #divisor: number
  #count = 0
  #value = 0
  /** Rounding error of the last addition. */
  #carry = 0

  constructor(seedCount: number, divisor: number) {
    this.#seedCount = seedCount
    this.#divisor = divisor
  }

  get value(): number {
    return this.#value
  }

  update(next: number): void {
    this.#count += 1
    const divisor = this.#count <= this.#seedCount ? this.#count : this.#divisor
    const step = (next - this.#value - this.#carry) / divisor + this.#carry
    const sum = this.#value + step
    this.#carry = step - (sum - this.#value)
    this.#value = sum
  }
}

function noErrors(): Errors {
  return { rsi14: 0, atr14: 0, ema200: 0, vwap20: 0, deviation20: 0, zscore100: 0 }
}

function worsen(
  errors: Errors,
  name: keyof Errors,
  actual: number,
  expected: number,
  scale = Math.abs(expected),
): void {
  assert(!Number.isNaN(expected), `${name} has no reference`)
  const error = scale === 0 ? Math.abs(actual) : Math.abs(actual - expected) / scale
  errors[name] = Math.max(errors[name], Number.isNaN(error) ? Number.POSITIVE_INFINITY : error)
}

function cells(errors: Errors): string[] {
  return names.map((name) => {
    const error = errors[name]
    if (error < 0) return ''
    return error === Number.POSITIVE_INFINITY ? 'NaN' : error.toExponential(0)
  })
}

function windowOf(ring: Float64Array, newest: number, length: number): number[] {
  return Array.from({ length }, (_, age) => ring[(newest - age) % RING] ?? Number.NaN)
}

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0)
}

function quiet(chance: () => number): number {
  return 65_000 + Math.round(60 * (chance() - 0.5)) / 10
}

main()
