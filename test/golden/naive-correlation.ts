import type { Batch } from '../../src/domain/event.ts'

const HOUR_MS = 3_600_000
const LAST_QUARTER_MS = 45 * 60_000
/** A bar is taken for closed so long after its end. */
const GRACE_MS = 3_000

export type NaivePair = {
  readonly n: number
  readonly r: number
  readonly beta: number
  readonly stderr: number
  readonly low: number
  readonly high: number
}

/** Open time of an hour to its close. */
export type NaiveCloses = ReadonlyMap<number, number>

/**
 * Closes of every coin's hours from what the venue said and nothing else, the last word on each: 1h bars of
 * history, and the last quarter of an hour that ended. For logs in which every quarter has a bar. Written
 * without a look at the incremental code, which is tested against it.
 */
export function naiveCloses(log: readonly Batch[]): Map<string, Map<number, number>> {
  const events = log.flat()
  const endMs = Math.max(...events.map(({ timeExchangeMs }) => timeExchangeMs))
  const closes = new Map<string, Map<number, number>>()
  const tell = (coin: string, hourMs: number, close: number) => {
    if (hourMs + HOUR_MS + GRACE_MS > endMs) return
    const ofCoin = closes.get(coin) ?? new Map<number, number>()
    closes.set(coin, ofCoin.set(hourMs, close))
  }
  for (const event of events) {
    if (event.kind === 'hourly-history')
      for (const bar of event.bars) tell(event.coin, bar.openTimeMs, bar.close)
    const quarters =
      event.kind === 'candle' ? [event.bar] : event.kind === 'history' ? event.bars : []
    if (!('timeframe' in event) || event.timeframe !== '15m') continue
    for (const { openTimeMs, close } of quarters)
      if (openTimeMs % HOUR_MS === LAST_QUARTER_MS)
        tell(event.coin, openTimeMs - LAST_QUARTER_MS, close)
  }
  return closes
}

/** Of two coins over the returns that both have in `hours` hours, the last of which opens at `lastMs`. */
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

/** Straight from the definitions. */
export function naiveCoefficients(xs: readonly number[], ys: readonly number[]) {
  const n = xs.length
  const [meanX, meanY] = [sum(xs) / n, sum(ys) / n]
  const covariance = sum(xs.map((x, at) => (x - meanX) * ((ys[at] ?? NaN) - meanY))) / (n - 1)
  const varianceX = sum(xs.map((x) => (x - meanX) ** 2)) / (n - 1)
  const varianceY = sum(ys.map((y) => (y - meanY) ** 2)) / (n - 1)
  const r = covariance / (Math.sqrt(varianceX) * Math.sqrt(varianceY))
  return { n, r, beta: covariance / varianceY }
}

/** 95 % interval of a correlation and its standard error, each step as the definition has it. */
export function naiveInterval(xs: readonly number[], ys: readonly number[], r: number) {
  const n = xs.length
  const [us, vs] = [inDeviations(xs), inDeviations(ys)]
  // Derivative of r with regard to each observation, then of Fisher's z with regard to r.
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
  // Fisher's z, by its other spelling.
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
 * Of Student's t: with t = sqrt(freedom) tan(angle) its density is cos(angle) to the power of freedom - 1.
 * Summed in narrow strips up to where 95 % lie.
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
