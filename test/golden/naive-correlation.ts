import type { Batch } from '../../src/domain/event.ts'

const HOUR_MS = 3_600_000
const LAST_QUARTER_MS = 45 * 60_000
/** A bar counts as closed this long after its end. */
const GRACE_MS = 3_000

export type NaivePair = {
  readonly n: number
  readonly r: number
  readonly beta: number
  readonly stderr: number
  readonly low: number
  readonly high: number
}

/** Close by open time of the hour. */
export type NaiveCloses = ReadonlyMap<number, number>

/**
 * Hourly closes of every coin from the venue's events alone; the latest value counts. Sources: 1h bars of history
 * and the last 15m bar of a completed hour. For logs in which every quarter has a bar. Written independently
 * of the incremental code under test.
 */
export function naiveCloses(log: readonly Batch[]): Map<string, Map<number, number>> {
  const events = log.flat()
  const endMs = Math.max(...events.map(({ timeExchangeMs }) => timeExchangeMs))
  const closes = new Map<string, Map<number, number>>()
  const record = (coin: string, hourMs: number, close: number) => {
    if (hourMs + HOUR_MS + GRACE_MS > endMs) return
    const ofCoin = closes.get(coin) ?? new Map<number, number>()
    closes.set(coin, ofCoin.set(hourMs, close))
  }
  for (const event of events) {
    if (event.kind === 'hourly-history')
      for (const bar of event.bars) record(event.coin, bar.openTimeMs, bar.close)
    const quarters =
      event.kind === 'candle' ? [event.bar] : event.kind === 'history' ? event.bars : []
    if (!('timeframe' in event) || event.timeframe !== '15m') continue
    for (const { openTimeMs, close } of quarters)
      if (openTimeMs % HOUR_MS === LAST_QUARTER_MS)
        record(event.coin, openTimeMs - LAST_QUARTER_MS, close)
  }
  return closes
}

/** Statistics of two coins over their common returns in the `hours` hours up to the one that opens at `lastMs`. */
export function naivePair(
  ofCoin: NaiveCloses,
  ofReference: NaiveCloses,
  { lastMs, hours }: { lastMs: number; hours: number },
): NaivePair {
  const xs: number[] = []
  const ys: number[] = []
  for (let hourMs = lastMs - (hours - 1) * HOUR_MS; hourMs <= lastMs; hourMs += HOUR_MS) {
    const x = Math.log((ofCoin.get(hourMs) ?? NaN) / (ofCoin.get(hourMs - HOUR_MS) ?? NaN))
    const y = Math.log(
      (ofReference.get(hourMs) ?? NaN) / (ofReference.get(hourMs - HOUR_MS) ?? NaN),
    )
    if (Number.isNaN(x) || Number.isNaN(y)) continue
    xs.push(x)
    ys.push(y)
  }
  return naiveStatistics(xs, ys)
}

export function naiveStatistics(xs: readonly number[], ys: readonly number[]): NaivePair {
  const coefficients = naiveCoefficients(xs, ys)
  return { ...coefficients, ...naiveInterval(xs, ys, coefficients.r) }
}

/** Textbook definitions. */
export function naiveCoefficients(xs: readonly number[], ys: readonly number[]) {
  const n = xs.length
  const [meanX, meanY] = [sum(xs) / n, sum(ys) / n]
  const covariance = sum(xs.map((x, at) => (x - meanX) * ((ys[at] ?? NaN) - meanY))) / (n - 1)
  const varianceX = sum(xs.map((x) => (x - meanX) ** 2)) / (n - 1)
  const varianceY = sum(ys.map((y) => (y - meanY) ** 2)) / (n - 1)
  const r = covariance / (Math.sqrt(varianceX) * Math.sqrt(varianceY))
  return { n, r, beta: covariance / varianceY }
}

/** 95 % interval of a correlation and its standard error, step by step as defined. */
export function naiveInterval(xs: readonly number[], ys: readonly number[], r: number) {
  const n = xs.length
  const [us, vs] = [inDeviations(xs), inDeviations(ys)]
  // Derivative of r by each observation, then of Fisher's z by r.
  const pushes = us.map((u, at) => {
    const v = vs[at] ?? NaN
    return (u * v - (r / 2) * (u * u + v * v)) / (1 - r * r)
  })
  const cosines = Math.max(1, Math.min(16, Math.floor(0.6 * n ** (2 / 3))))
  const waves = Array.from({ length: cosines }, (_, at) =>
    sum(pushes.map((push, k) => push * Math.cos((Math.PI * (at + 1) * (k + 0.5)) / n))),
  )
  const variance = (2 * sum(waves.map((wave) => wave ** 2))) / (n * cosines)
  const kurtosis =
    (n * sum(pushes.map((push) => push ** 4))) / sum(pushes.map((push) => push ** 2)) ** 2
  const freedom = 1 / (1 / cosines + (kurtosis - 1) / (2 * n))
  const deviation = Math.sqrt(variance / (n - 3))
  const reach = quantile95(Math.max(2, freedom)) * deviation
  // Fisher's z in its logarithmic form.
  const z = Math.log((1 + r) / (1 - r)) / 2
  const back = (value: number) => (Math.exp(2 * value) - 1) / (Math.exp(2 * value) + 1)
  return {
    stderr: (1 - r * r) * deviation,
    reach,
    zLow: z - reach,
    zHigh: z + reach,
    low: back(z - reach),
    high: back(z + reach),
  }
}

function inDeviations(values: readonly number[]): number[] {
  const mean = sum(values) / values.length
  const deviation = Math.sqrt(sum(values.map((value) => (value - mean) ** 2)) / values.length)
  return values.map((value) => (value - mean) / deviation)
}

/**
 * Quantile of Student's t: with t = sqrt(freedom) tan(angle) its density is cos(angle) ** (freedom - 1).
 * Integrated in narrow strips until 95 % are covered.
 */
function quantile95(freedom: number): number {
  const strips = 20_000
  const width = Math.PI / 2 / strips
  const areas = Array.from(
    { length: strips },
    (_, at) => Math.cos((at + 0.5) * width) ** (freedom - 1),
  )
  const wanted = 0.95 * sum(areas)
  let [reached, angle] = [0, 0]
  for (const area of areas) {
    if (reached + area >= wanted)
      return Math.sqrt(freedom) * Math.tan(angle + (width * (wanted - reached)) / area)
    reached += area
    angle += width
  }
  return NaN
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
